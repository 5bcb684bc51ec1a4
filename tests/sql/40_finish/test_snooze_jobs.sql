begin;
select plan(24);

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
        '{a,b}', array_fill('{}'::jsonb, array[2]), max_attempts => 1
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

select set_eq(
    $$ select k.kind, s.state, s.run_at
       from rota.snooze_jobs(
           array[pg_temp.id('a'), pg_temp.id('b'), 0], '{1,1,1}',
           array['1 h', '0', '1 s']::interval[]) as s
       inner join job as k using (id) $$,
    $$ values ('a', 'scheduled', timestamptz '2030-01-01 13:00+00'),
        ('b', 'queued', '2030-01-01 12:00+00') $$,
    'a snoozed job waits for the time it asked for'
);
select results_eq(
    $$ select j.attempt, j.execution, j.worker_id, j.claimed_at from rota.jobs as j
       where j.kind = 'a' $$,
    'values (0, 1, null::bigint, null::timestamptz)',
    'it is uncharged, and nobody holds it'
);
select results_eq(
    $$ select e.outcome from rota.executions as e where e.job_id = pg_temp.id('a') $$,
    $$ values ('snoozed') $$,
    'the execution is on record'
);
select is(
    (select (rota.promote_jobs())), 0, 'it is not promoted before its time'
);
set local test.now = '2030-01-01 13:00+00';
select is((select (rota.promote_jobs())), 1, 'it is promoted at its time');
select results_eq(
    $$ select c.kind, c.attempt, c.execution, c.run_at
       from ref cross join lateral rota.claim_jobs(worker, max_jobs => 2) as c $$,
    $$ values ('b', 1, 2, timestamptz '2030-01-01 12:00+00'),
        ('a', 1, 2, '2030-01-01 13:00+00') $$,
    'and runs again, its only attempt still there'
);
do $$
begin
    for i in 2..20 loop
        perform rota.snooze_job(pg_temp.id('a'), i, '0');
        perform rota.claim_jobs(worker) from ref;
    end loop;
end;
$$;
select results_eq(
    $$ select j.state, j.attempt, j.execution from rota.jobs as j where j.kind = 'a' $$,
    $$ values ('running', 1, 21) $$,
    'it may be snoozed any number of times'
);
select throws_ok(
    $$ select rota.snooze_job(pg_temp.id('a'), 22, '1 s') $$, 'RT005', null,
    'only by its token'
);
select throws_ok(
    format('select rota.snooze_jobs(%s)', b.arguments), '22023', null,
    'refused: ' || b.arguments
)
from (
    values
    ('null, null, null'),
    ('''{1}'', ''{1}'', null'),
    ('''{1}'', ''{1}'', ''{}'''),
    ('''{1}'', ''{1}'', array[null::interval]'),
    ('''{1}'', ''{1}'', array[''1 s'', ''1 s'']::interval[]'),
    ('''{1}'', ''{1}'', array[''-1 s'']::interval[]'),
    ('''{1}'', ''{1}'', array[''101 years'']::interval[]'),
    ('''{1}'', ''{1}'', array[''-1 year 361 days'']::interval[]'),
    ('''{1,2}'', ''{1}'', array[''1 s'', ''1 s'']::interval[]'),
    ('''{1}'', array[null::integer], array[''1 s'']::interval[]'),
    ('''{1,1}'', ''{1,1}'', ''{{1 s,null}}''::interval[]')
) as b (arguments);
select throws_ok(
    format('select rota.snooze_job(%s)', b.arguments), b.code, null,
    format('one refused with %s: %s', b.code, b.arguments)
)
from (
    values
    ('null, 1, ''1 s''', '22023'),
    ('1, null, ''1 s''', '22023'),
    ('1, 1, null', '22023'),
    ('0, 1, ''1 s''', 'RT002')
) as b (arguments, code);
select is(
    (select count(*)::integer from rota.jobs as j where j.state = 'running'), 2,
    'nothing that was refused was done'
);
select * from finish();
rollback;
