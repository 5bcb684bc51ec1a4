begin;
select plan(25);

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
do $$
begin
    perform rota.enqueue_jobs(
        '{a,b,c}', array_fill('{}'::jsonb, array[3]), max_attempts => 2
    );
    perform rota.claim_jobs(worker, max_jobs => 2) from ref;
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
create function pg_temp.facts(p_kind text)
returns text
language sql
as $$
    select format('%s attempt %s execution %s', j.state, j.attempt, j.execution)
    from rota.jobs as j
    where j.kind = p_kind
$$;

select set_eq(
    $$ select k.kind, r.state, r.run_at
       from rota.release_jobs(
           array[pg_temp.id('b'), pg_temp.id('a'), pg_temp.id('c'), 0],
               '{1,1,0,1}') as r
       inner join job as k using (id) $$,
    $$ values ('a', 'queued', timestamptz '2030-01-01 12:00+00'),
        ('b', 'queued', '2030-01-01 12:00+00') $$,
    'a released job is queued again; tokens that hold nothing are passed over'
);
select is(pg_temp.facts('a'), 'queued attempt 0 execution 1', 'uncharged, but counted');
select results_eq(
    $$ select e.outcome, e.attempt, e.error from rota.executions as e
       where e.job_id = pg_temp.id('a') $$,
    $$ values ('released', 1, null::text) $$,
    'the execution is on record'
);
select results_eq(
    $$ select r.state from rota.release_jobs(array[pg_temp.id('a')], '{1}') as r $$,
    $$ values ('queued') $$,
    'a release sent again is answered again'
);
select is(
    (select count(*)::integer from rota.executions where job_id = pg_temp.id('a')), 1,
    'and recorded once'
);
select results_eq(
    $$ select c.kind, c.attempt, c.execution
       from ref cross join lateral rota.claim_jobs(worker, max_jobs => 3) as c $$,
    $$ values ('a', 1, 2), ('b', 1, 2), ('c', 1, 1) $$,
    'released jobs are the first to run again, with an attempt not counted twice'
);
select throws_ok(
    $$ select rota.complete_job(pg_temp.id('a'), 1) $$, 'RT001', null,
    'the old token is void'
);
select results_eq(
    $$ select (rota.release_job(pg_temp.id('a'), 2)).state $$, $$ values ('queued') $$,
    'one job is released'
);

/* Refunds are exact: three rolling restarts leave both attempts. */
do $$
begin
    for i in 3..12 loop
        perform rota.claim_jobs(worker) from ref;
        perform rota.release_job(pg_temp.id('a'), i);
    end loop;
end;
$$;
select is(
    pg_temp.facts('a'), 'queued attempt 0 execution 12',
    'ten more releases charge nothing'
);
do $$
begin
    perform rota.claim_jobs(worker) from ref;
    perform rota.fail_job(pg_temp.id('a'), 13, 'e', delay => '0');
end;
$$;
select is(
    pg_temp.facts('a'), 'queued attempt 1 execution 13', 'the first failure charges one'
);
do $$
begin
    perform rota.claim_jobs(worker) from ref;
    perform rota.release_job(pg_temp.id('a'), 14);
end;
$$;
select is(
    pg_temp.facts('a'), 'queued attempt 1 execution 14',
    'a release between two failures charges none'
);
do $$
begin
    perform rota.claim_jobs(worker) from ref;
    perform rota.fail_job(pg_temp.id('a'), 15, 'e', delay => '0');
end;
$$;
select is(
    pg_temp.facts('a'), 'dead attempt 2 execution 15',
    'the second failure is the last of two attempts'
);
select results_eq(
    $$ select e.execution, e.outcome from rota.executions as e
       where e.job_id = pg_temp.id('a') order by 1 $$,
    $$ select g, case when g in (13, 15) then 'failed' else 'released' end
       from generate_series(1, 15) as g $$,
    'all fifteen executions are on record, without a gap'
);

select throws_ok(
    format('select rota.release_jobs(%s)', b.arguments), '22023', null,
    'refused: ' || b.arguments
)
from (
    values
    ('null, null'),
    ('''{1}'', null'),
    ('null, ''{1}'''),
    ('''{1,2}'', ''{1}'''),
    ('array[null::bigint], ''{1}'''),
    ('''{1}'', array[null::integer]'),
    ('''{{1,null}}'', ''{1,1}''')
) as b (arguments);
select throws_ok(
    'select rota.release_job(null, 1)', '22023', null, 'one job needs an id'
);
select throws_ok(
    'select rota.release_job(1, null)', '22023', null, 'and an execution'
);
select throws_ok(
    'select rota.release_job(0, 1)', 'RT002', null, 'of a job there is'
);
select is_empty(
    $$ select * from rota.release_jobs('{}', '{}') $$, 'an empty batch is fine'
);
select is(pg_temp.facts('b'), 'running attempt 1 execution 2', 'the other jobs run on');
select * from finish();
rollback;
