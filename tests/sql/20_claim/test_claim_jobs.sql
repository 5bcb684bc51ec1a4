begin;
select plan(40);

create or replace function rota._now()
returns timestamptz
language sql
volatile
parallel unsafe
as $$
    select current_setting('test.now')::timestamptz
$$;
set local test.now = '2030-01-01 12:00+00';

create temp table ref as
select rota.register_worker('w', '1 day') as worker;

create function pg_temp.claimed(p_queues text[], p_max_jobs integer)
returns setof text
language sql
as $$
    select c.kind from ref cross join lateral rota.claim_jobs(worker, p_queues,
        p_max_jobs) as c
$$;

do $$
begin
    perform rota.create_queue(q) from unnest('{a,b,c,d,e,f,paused,time}'::text[]) as q;
    perform rota.pause_queue('paused');
    perform rota.enqueue('paused', queue => 'paused');

    perform rota.enqueue('low 1', queue => 'a', priority => -1);
    perform rota.enqueue('mid 1', queue => 'a');
    perform rota.enqueue('high 1', queue => 'a', priority => 9);
    perform rota.enqueue('mid 2', queue => 'a');
    perform rota.enqueue('high 2', queue => 'a', priority => 9);
    perform rota.enqueue('low 2', queue => 'a', priority => -1);
    perform rota.enqueue('mid 3', queue => 'a');
end;
$$;

select results_eq(
    $$ select pg_temp.claimed('{a}', 1) $$, $$ values ('high 1') $$,
    'the first job handed out is the oldest of the highest priority'
);
select results_eq(
    $$ select pg_temp.claimed('{a}', 3) $$, $$ values ('high 2'), ('mid 1'),
       ('mid 2') $$,
    'a batch goes down the priorities, first in first out within each'
);
select results_eq(
    $$ select pg_temp.claimed('{a}', 100) $$, $$ values ('mid 3'), ('low 1'),
       ('low 2') $$,
    'a batch larger than the queue takes what there is'
);
select is_empty(
    $$ select pg_temp.claimed('{a}', 1) $$, 'and then there is nothing left'
);

select is(
    (select count(*)::integer from rota.jobs as j, ref
     where j.queue = 'a' and j.state = 'running' and j.worker_id = ref.worker
         and j.attempt = 1 and j.execution = 1 and j.claimed_at = rota._now()),
    7,
    'a claimed job is running, its attempt charged, its execution counted'
);

/* What one claim returns. */
do $$
begin
    perform rota.enqueue(
        'full', '{"x": 1}', 'b', 3, max_attempts => 4, timeout => '10 s',
        run_at => '2030-01-01 11:00+00'
    );
end;
$$;
set local test.now = '2030-01-01 12:00:05+00';
select results_eq(
    $$ select c.execution, c.attempt, c.max_attempts, c.queue, c.priority, c.kind,
       c.payload,
           c.timeout, c.run_at, c.created_at
       from ref cross join lateral rota.claim_jobs(worker, '{b}') as c $$,
    $$ values (1, 1, 4, 'b', 3::smallint, 'full', '{"x": 1}'::jsonb, interval '10 s',
           timestamptz '2030-01-01 11:00+00', timestamptz '2030-01-01 12:00+00') $$,
    'a claimed job comes with all that its handler needs'
);
select is(
    (select j.deadline_at from rota.jobs as j where j.kind = 'full'),
    '2030-01-01 12:00:15+00',
    'its time runs from the claim'
);

/* Ties, and one instant. */
do $$
begin
    perform rota.enqueue_jobs(
        array(select 'tie ' || lpad(g::text, 3, '0') from generate_series(1, 300) as g),
        array_fill('{}'::jsonb, array[300]), 'c'
    );
end;
$$;
select results_eq(
    $$ select pg_temp.claimed('{c}', 300) $$,
    $$ select 'tie ' || lpad(g::text, 3, '0') from generate_series(1, 300) as g $$,
    'jobs of one instant and one batch are handed out in their order'
);

/* Released and lost jobs go first; failed ones queue up again. */
do $$
begin
    perform rota.enqueue_jobs(
        '{r1,r2,r3,r4,r5}', array_fill('{}'::jsonb, array[5]), 'd'
    );
    perform rota.enqueue('above', queue => 'd', priority => 1);
    perform rota.release_jobs(array_agg(c.id order by c.id desc), array_agg(1))
    from ref cross join lateral rota.claim_jobs(worker, '{d}', 4) as c
    where c.kind <> 'above';
end;
$$;
select results_eq(
    $$ select pg_temp.claimed('{d}', 2) $$, $$ values ('r1'), ('r2') $$,
    'released jobs run before the others of their priority, in the order they had'
);
do $$
begin
    perform rota.fail_jobs(
        array_agg(j.id), array_agg(j.execution), array_agg('e'::text),
        delays => array_agg(interval '0')
    )
    from rota.jobs as j
    where j.queue = 'd' and j.kind in ('r1', 'r2');
    perform rota.enqueue('above 2', queue => 'd', priority => 1);
    perform rota.enqueue('last', queue => 'd');
end;
$$;
select results_eq(
    $$ select pg_temp.claimed('{d}', 10) $$,
    $$ values ('above 2'), ('r3'), ('r4'), ('r5'), ('r1'), ('r2'), ('last') $$,
    'but never before a higher priority; a failed job without delay queues up behind'
);

/* Fairness. */
do $$
begin
    perform rota.enqueue_jobs('{hot}', array_fill('{}'::jsonb, array[200]), 'e');
    perform rota.enqueue_jobs('{cold}', array_fill('{}'::jsonb, array[200]), 'f');
end;
$$;
create temp table served as
select pg_temp.claimed('{e,f}', 1) as kind
from generate_series(1, 100);
select ok(
    count(*) = 100 and count(*) filter (where s.kind = 'hot') between 10 and 90,
    'queues of one priority are served in random turn, not one after the other'
)
from served as s;
select is(
    (select count(*)::integer from pg_temp.claimed('{e,f}', 10000)), 300,
    'one call takes from as many queues as it needs'
);

/* What is not handed out. */
select is_empty(
    $$ select pg_temp.claimed('{paused}', 1) $$, 'a paused queue hands out nothing'
);
do $$
begin
    perform rota.enqueue('soon', queue => 'time', delay => '1 s');
end;
$$;
select is_empty(
    $$ select pg_temp.claimed('{time}', 1) $$, 'a job is not handed out before its time'
);
do $$
begin
    perform rota.enqueue('k', queue => 'time');
end;
$$;
select is_empty(
    $$ select pg_temp.claimed('{time}', 0) $$, 'who asks for no jobs gets none'
);
select is_empty(
    $$ select pg_temp.claimed('{default}', 10) $$,
    'other queues than those named are left alone'
);
select results_eq(
    $$ select pg_temp.claimed('{time,time,a}', 2147483647) $$, $$ values ('k') $$,
    'a queue named twice hands out its jobs once, and any maximum may be asked for'
);
do $$
begin
    perform rota.enqueue_jobs('{many}', array_fill('{}'::jsonb, array[10001]), 'time');
end;
$$;
select is(
    (select count(*)::integer from pg_temp.claimed('{time}', 20000)), 10000,
    'one call hands out 10,000 jobs at most'
);
select is(
    (select count(*)::integer from pg_temp.claimed('{time}', 20000)), 1,
    'and the next call the rest'
);
select is_empty(
    $$ select j.id from rota.jobs as j where j.state = 'running' and j.execution > 3 $$,
    'nothing ran more often than this history tells'
);

/* Workers. */
create temp table gone as
select
    rota.register_worker('ended') as ended,
    rota.register_worker('lost', '1 s') as lost,
    rota.register_worker('silent', '1 s') as silent;
do $$
begin
    perform rota.deregister_worker(ended) from gone;
    update rota.worker set lost_at = rota._now() where name = 'lost';
    perform rota.enqueue('k');
end;
$$;
select throws_ok(
    'select rota.claim_jobs(ended) from gone', 'RT007', null,
    'a worker that has ended may claim nothing'
);
select throws_ok(
    'select rota.claim_jobs(lost) from gone', 'RT007', null,
    'nor may a worker that was lost'
);
set local test.now = '2030-01-01 12:01+00';
select lives_ok(
    'select rota.claim_jobs(silent, max_jobs => 0) from gone',
    'a worker whose lease ran out unnoticed is alive until it is reaped'
);

select throws_ok(
    format('select rota.claim_jobs(%s) from ref', b.arguments), b.code, null,
    format('refused with %s: %s', b.code, b.arguments)
)
from (
    values
    ('null', 'RT007'),
    ('0', 'RT007'),
    ('-1', 'RT007'),
    ('9223372036854775807', 'RT007'),
    ('worker, null', '22023'),
    ('worker, ''{}''', '22023'),
    ('worker, array[null::text]', '22023'),
    ('worker, array[''default'', null]', '22023'),
    ('worker, array[array[''default'', null]]', '22023'),
    ('worker, array[''default'', ''none'']', 'RT003'),
    ('worker, array['''']', 'RT003'),
    ('worker, array[''x''''; drop schema rota; --'']', 'RT003'),
    ('worker, max_jobs => null', '22023'),
    ('worker, max_jobs => -1', '22023'),
    ('worker, max_jobs => -2147483648', '22023')
) as b (arguments, code);
select is(
    (select count(*)::integer from rota.jobs as j
     where j.queue = 'default' and j.state = 'running'),
    0, 'no refused call claimed anything'
);
select is(
    (select count(*)::integer from pg_temp.claimed(array[array['default', 'a']], 10)),
        1,
    'an array of several dimensions names queues like any other'
);
select * from finish();
rollback;
