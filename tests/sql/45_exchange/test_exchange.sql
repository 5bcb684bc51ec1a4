begin;
select plan(72);

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
select rota.register_worker('w', '60 s') as worker;
do $$
begin
    perform rota.create_queue('empty');
    perform rota.enqueue_jobs(
        '{a,b,c,d,e,f,g,h}', array_fill('{"p": 1}'::jsonb, array[8]), timeout => '5 s'
    );
    perform rota.enqueue('later', queue => 'empty', delay => '1 h');
    perform rota.enqueue('sooner', queue => 'empty', delay => '30 min');
end;
$$;
create temp table job as
select
    j.id,
    j.kind
from rota.jobs as j;
create function pg_temp.id(p_kind text)
returns bigint
language sql
as $$
    select id from job where kind = p_kind
$$;
create function pg_temp.said(
    p_max_jobs integer default 0,
    p_completed bigint[] default null,
    p_executions integer[] default null,
    p_returned jsonb default null
)
returns setof text
language sql
as $$
    select concat_ws(' ', x.event, coalesce(x.kind, k.kind), x.execution)
    from ref
    cross join lateral rota.exchange(
        worker, '{default}', p_max_jobs, p_completed, p_executions, null, p_returned
    ) with ordinality as x (
        event, id, execution, attempt, max_attempts, queue, priority, kind, payload,
        timeout, run_at, created_at, number
    )
    left join job as k on k.id = x.id
    order by x.number
$$;
create function pg_temp.returned(variadic p_items text[])
returns jsonb
language sql
as $$
    select jsonb_agg(
        jsonb_build_object(
            'id', (select k.id from job as k where k.kind = split_part(i.item, ' ', 1)),
            'execution', split_part(i.item, ' ', 2)::integer,
            'outcome', split_part(i.item, ' ', 3)
        ) || i.more::jsonb
        order by i.number
    )
    from (
        select
            split_part(u.item, '|', 1) as item,
            coalesce(nullif(split_part(u.item, '|', 2), ''), '{}') as more,
            u.number
        from unnest(p_items) with ordinality as u (item, number)
    ) as i
$$;

select results_eq(
    'select * from pg_temp.said()', $$ values ('next') $$,
    'who asks for nothing is told when to come again'
);
select results_eq(
    $$ select x.run_at from ref cross join lateral rota.exchange(worker) as x
       where x.event = 'next' $$,
    $$ values (timestamptz '2030-01-01 12:30+00') $$,
    'that is when the next scheduled job falls due'
);
select results_eq(
    'select * from pg_temp.said(6)',
    $$ values ('claimed a 1'), ('claimed b 1'), ('claimed c 1'), ('claimed d 1'),
        ('claimed e 1'), ('claimed f 1'), ('next') $$,
    'jobs are claimed in order'
);
select results_eq(
    $$ select x.event, x.execution, x.attempt, x.max_attempts, x.queue, x.priority,
       x.kind,
           x.payload, x.timeout, x.run_at, x.created_at
       from ref cross join lateral rota.exchange(worker, max_jobs => 1) as x
       where x.event = 'claimed' $$,
    $$ values ('claimed', 1, 1, 10, 'default', 0::smallint, 'g', '{"p": 1}'::jsonb,
           interval '5 s', timestamptz '2030-01-01 12:00+00',
           timestamptz '2030-01-01 12:00+00') $$,
    'with all that claim_jobs tells'
);

/* One trip: two settled, one refused, one to cancel, one claimed. */
do $$
begin
    perform rota.cancel_jobs(array[pg_temp.id('e'), pg_temp.id('f')]);
end;
$$;
select results_eq(
    $$ select * from pg_temp.said(
        5, array[pg_temp.id('a'), pg_temp.id('b'), 0], '{1,7,1}',
        pg_temp.returned('c 1 failed|{"error": "e", "delay": 1.5}',
            'd 1 released', 'e 1 failed', 'g 9 snoozed|{"delay": 1}')) $$,
    $$ values ('refused b 7'), ('refused 1'), ('refused g 9'), ('cancel f 1'),
        ('claimed d 2'), ('claimed h 1'), ('next') $$,
    'one trip settles, tells what was refused and what to stop, and claims'
);
select bag_eq(
    $$ select concat_ws(' ', j.kind, j.state, j.attempt, j.run_at - rota._now())
       from rota.jobs as j where j.queue = 'default' $$,
    $$ values ('a completed 1 00:00:00'), ('b running 1 00:00:00'),
        ('c scheduled 1 00:00:01.5'), ('d running 1 00:00:00'),
        ('e cancelled 1 00:00:00'), ('f running 1 00:00:00'), ('g running 1 00:00:00'),
        ('h running 1 00:00:00') $$,
    'and each job is where it belongs'
);
select results_eq(
    $$ select * from pg_temp.said(0, array[pg_temp.id('a')], '{1}',
        pg_temp.returned('c 1 failed', 'd 1 released')) $$,
    $$ values ('cancel f 1'), ('next') $$,
    'settlements sent again are accepted again'
);
select is(
    (select count(*)::integer from rota.executions as e
    where e.job_id = pg_temp.id('c')),
    1, 'and recorded once'
);
select results_eq(
    $$ select * from pg_temp.said(0, null, null,
        pg_temp.returned('b 1 failed', 'b 1 released', 'b 1 failed')) $$,
    $$ values ('cancel f 1'), ('next') $$,
    'an execution named more than once ends once'
);
select is(
    (select count(*)::integer from rota.executions as e
    where e.job_id = pg_temp.id('b')),
    1, 'and is recorded once'
);
select results_eq(
    $$ select * from pg_temp.said(0, null, null, pg_temp.returned(
        'f 1 timed_out|{"error": "slow"}', 'g 1 failed|{"retryable": false}',
        'h 1 snoozed|{"delay": 60}')) $$,
    $$ values ('next') $$,
    'every outcome is understood'
);
select bag_eq(
    $$ select concat_ws(' ', k.kind, j.state, e.outcome, e.error, j.reason)
       from rota.jobs as j inner join job as k using (id)
       inner join rota.executions as e on e.job_id = j.id and e.execution = j.execution
       where k.kind in ('f', 'g', 'h') $$,
    $$ values ('f cancelled cancelled slow'), ('g dead failed not_retryable'),
        ('h scheduled snoozed') $$,
    'and leads where its verb leads'
);
select is(
    (select j.run_at from rota.jobs as j where j.kind = 'h'),
    '2030-01-01 12:01+00', 'a delay is in seconds'
);

/* The beat. */
create function pg_temp.lease()
returns interval
language sql
as $$
    select w.lease_expires_at - '2030-01-01 12:00+00'
    from ref inner join rota.worker_status as w on w.id = ref.worker
$$;
set local test.now = '2030-01-01 12:00:09.999+00';
select lives_ok(
    'select * from pg_temp.said()', 'an exchange before a sixth of the lease'
);
select is(pg_temp.lease(), '60 s', 'renews nothing, which spares a row version');
set local test.now = '2030-01-01 12:00:10+00';
select lives_ok('select * from pg_temp.said()', 'one after a sixth of the lease');
select is(pg_temp.lease(), '70 s', 'renews it');

/* A lost worker. */
set local test.now = '2030-01-01 12:10+00';
do $$
begin
    perform rota.reap_workers();
end;
$$;
select throws_ok(
    $$ select * from pg_temp.said(1, array[pg_temp.id('d')], '{2}') $$, 'RT007', null,
    'a lost worker is refused'
);
select is(
    (select j.state from rota.jobs as j where j.kind = 'd'), 'queued',
        'and settles nothing'
);
do $$
begin
    update ref set worker = rota.register_worker('again', '60 s');
end;
$$;
select results_eq(
    $$ select * from pg_temp.said(0, array[pg_temp.id('d')], '{2}') $$,
    $$ values ('refused d 2'), ('next') $$,
    'registered anew, it is told that its execution was lost'
);

/* Bad input. */
create temp table before_refusals as
select jsonb_agg(j order by j.id) as jobs from rota.jobs as j;
select throws_ok(
    format('select * from ref cross join lateral rota.exchange(worker, %s)',
        b.arguments),
    b.code, null, format('refused with %s: %s', b.code, left(b.arguments, 90))
)
from (
    values
    ('null', '22023'),
    ('''{}''', '22023'),
    ('array[null::text]', '22023'),
    ('''{{default,null}}''', '22023'),
    ('''{none}''', 'RT003'),
    ('max_jobs => null', '22023'),
    ('max_jobs => -1', '22023'),
    ('completed_ids => ''{1}''', '22023'),
    ('completed_executions => ''{1}''', '22023'),
    ('completed_ids => ''{1,2}'', completed_executions => ''{1}''', '22023'),
    ('completed_ids => array[null::bigint], completed_executions => ''{1}''', '22023'),
    ('completed_ids => ''{1}'', completed_executions => ''{1}'','
        ' completed_results => ''{}''',
        '22023'),
    ('returned => ''null''', '22023'),
    ('returned => ''{}''', '22023'),
    ('returned => ''1''', '22023'),
    ('returned => ''"x"''', '22023')
) as b (arguments, code);
select throws_ok(
    format(
        'select * from ref cross join lateral rota.exchange(worker, returned => %L)',
            b.item
    ),
    '22023', null, 'refused in returned: ' || left(b.item, 90)
)
from (
    values
    ('[null]'),
    ('[1]'),
    ('[[]]'),
    ('[{}]'),
    ('[{"id": 1, "execution": 1}]'),
    ('[{"id": 1, "outcome": "failed"}]'),
    ('[{"execution": 1, "outcome": "failed"}]'),
    ('[{"id": null, "execution": 1, "outcome": "failed"}]'),
    ('[{"id": -1, "execution": 1, "outcome": "failed"}]'),
    ('[{"id": 1.5, "execution": 1, "outcome": "failed"}]'),
    ('[{"id": 1e30, "execution": 1, "outcome": "failed"}]'),
    ('[{"id": "1 ", "execution": 1, "outcome": "failed"}]'),
    (e'[{"id": "1\\n", "execution": 1, "outcome": "failed"}]'),
    ('[{"id": "\u0661", "execution": 1, "outcome": "failed"}]'),
    ('[{"id": [1], "execution": 1, "outcome": "failed"}]'),
    ('[{"id": 1, "execution": 99999999999, "outcome": "failed"}]'),
    ('[{"id": 1, "execution": "x", "outcome": "failed"}]'),
    ('[{"id": 1, "execution": 1, "outcome": "completed"}]'),
    ('[{"id": 1, "execution": 1, "outcome": null}]'),
    ('[{"id": 1, "execution": 1, "outcome": ["failed"]}]'),
    ('[{"id": 1, "execution": 1, "outcome": "failed", "retryable": "yes"}]'),
    ('[{"id": 1, "execution": 1, "outcome": "failed", "retryable": 1}]'),
    ('[{"id": 1, "execution": 1, "outcome": "failed", "delay": "1 s"}]'),
    ('[{"id": 1, "execution": 1, "outcome": "failed", "delay": -1}]'),
    ('[{"id": 1, "execution": 1, "outcome": "failed", "delay": 1e300}]'),
    ('[{"id": 1, "execution": 1, "outcome": "failed", "delay": [1]}]'),
    ('[{"id": 1, "execution": 1, "outcome": "snoozed"}]'),
    ('[{"id": 1, "execution": 1, "outcome": "snoozed", "delay": null}]')
) as b (item);
select lives_ok(
    format(
        'select * from ref cross join lateral rota.exchange(worker, returned => %L)',
            b.item
    ),
    'understood: ' || b.item
)
from (
    values
    ('[]'),
    ('[{"id": 0, "execution": 1, "outcome": "failed", "error": null,'
        ' "retryable": null}]'),
    ('[{"id": 0, "execution": 1, "outcome": "failed", "delay": null}]'),
    ('[{"id": 0, "execution": 1, "outcome": "snoozed", "delay": 1e-400}]'),
    ('[{"id": 999999999999999999, "execution": 999999999, "outcome": "released"}]')
) as b (item);
select is(
    (select jsonb_agg(j order by j.id) from rota.jobs as j), b.jobs,
    'nothing of all that changed a job'
)
from before_refusals as b;
select throws_ok('select rota.exchange(null)', 'RT007', null, 'nobody is no worker');
select throws_ok('select rota.exchange(0)', 'RT007', null, 'nor is a stranger');
select * from finish();
rollback;
