begin;
select plan(20);

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

/* A completed and a cancelled job of each queue, and one in every other state. */
create function pg_temp.finish_some(p_queue text, p_note text)
returns void
language plpgsql
as $$
declare
    v_job record;
begin
    perform rota.enqueue(p_note || ' completed', queue => p_queue);
    for v_job in
        select c.* from ref cross join lateral rota.claim_jobs(worker,
            array[p_queue]) as c
    loop
        perform rota.complete_job(v_job.id, v_job.execution);
    end loop;
    perform rota.cancel_job(rota.enqueue(p_note || ' cancelled', queue => p_queue));
end;
$$;
do $$
begin
    perform rota.create_queue('hour', retention => '1 h');
    perform rota.create_queue('day', retention => '1 day');
    perform rota.create_queue('none', retention => '0');
    perform rota.create_queue('live', retention => '1 h');
    perform rota.alter_settings(retention => '10 days');
    perform pg_temp.finish_some(q, 'old')
    from unnest('{default,hour,day,none}'::text[]) as q;
    perform rota.enqueue('running', queue => 'live');
    perform rota.enqueue('dead', queue => 'live');
    perform rota.claim_jobs(worker, '{live}', 2) from ref;
    perform rota.fail_job(j.id, 1, 'e', false) from rota.jobs as j
    where j.kind = 'dead';
    perform rota.enqueue('queued', queue => 'live');
    perform rota.enqueue('scheduled', queue => 'live', delay => '100 days');
end;
$$;
create function pg_temp.kept()
returns setof text
language sql
as $$
    select j.queue || ' ' || j.kind from rota.jobs as j where j.queue <> 'live'
$$;

select bag_eq(
    'select pg_temp.kept()',
    $$ values ('default old completed'), ('default old cancelled'),
        ('hour old completed'), ('hour old cancelled'), ('day old completed'),
        ('day old cancelled') $$,
    'a queue with a retention of nothing archives nothing'
);
select results_eq(
    $$ select s.unarchived_completed_count, s.unarchived_cancelled_count
       from rota.queue_stats as s where s.queue = 'none' $$,
    'values (1::bigint, 1::bigint)',
    'but counts'
);
select is(rota.purge_archive(), 0, 'nothing is purged before its retention ends');
set local test.now = '2030-01-01 12:30+00';
do $$
begin
    perform pg_temp.finish_some('hour', 'newer');
end;
$$;
set local test.now = '2030-01-01 12:59:59+00';
select is(rota.purge_archive(), 0, 'not by a second');
set local test.now = '2030-01-01 13:05+00';
select is(rota.purge_archive(), 2, 'within five minutes after it is');
select bag_eq(
    'select pg_temp.kept()',
    $$ values ('default old completed'), ('default old cancelled'),
        ('hour newer completed'), ('hour newer cancelled'), ('day old completed'),
        ('day old cancelled') $$,
    'of the queue that asks for less, and only what is old enough'
);
select is(rota.purge_archive(), 0, 'once');
set local test.now = '2030-01-01 13:35+00';
select is(rota.purge_archive(1), 1, 'no more at once than asked for');
select is(rota.purge_archive(1), 1, 'the rest the next time');
select is(rota.purge_archive(1), 0, 'until nothing is left');
do $$
begin
    perform rota.alter_queue('default', retention => '30 min');
end;
$$;
select is(rota.purge_archive(), 2, 'a retention made shorter holds for what is there');
set local test.now = '2030-01-02 12:05+00';
select is(rota.purge_archive(), 2, 'each queue has its own');
do $$
begin
    perform rota.alter_queue('default', reset => '{retention}');
    perform pg_temp.finish_some('default', 'last');
end;
$$;
set local test.now = '2030-01-12 12:00+00';
select is(
    rota.purge_archive(), 0, 'a queue without one keeps its jobs for the days of all'
);
set local test.now = '2030-01-12 12:10+00';
select is(
    rota.purge_archive(), 2,
    'after that, what is in the default partition is purged row by row'
);
set local test.now = '2032-01-01 12:00+00';
select is(rota.purge_archive(), 0, 'years later');
select bag_eq(
    $$ select j.state, j.kind from rota.jobs as j $$,
    $$ values ('running', 'running'), ('dead', 'dead'), ('queued', 'queued'),
        ('scheduled', 'scheduled') $$,
    'only ended jobs are ever purged: not the waiting, the running, nor dead letters'
);
select throws_ok(
    format('select rota.purge_archive(%s)', b.given), '22023', null,
    'refused: max_jobs ' || b.given
)
from (values ('null'), ('0'), ('-1')) as b (given);
select lives_ok(
    'select rota.purge_archive(2147483647)', 'any maximum may be asked for'
);
select * from finish();
rollback;
