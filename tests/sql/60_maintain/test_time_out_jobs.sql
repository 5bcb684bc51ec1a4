begin;
select plan(15);

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
    perform rota.create_retry_policy('at once', base => '0', jitter => 'none');
    perform rota.enqueue_jobs(
        '{a,b}', array_fill('{}'::jsonb, array[2]), timeout => '1 min',
        retry_policy => 'at once'
    );
    perform rota.enqueue('last', timeout => '1 min', max_attempts => 1);
    perform rota.enqueue('endless');
    perform rota.claim_jobs(worker, max_jobs => 10) from ref;
    perform rota.enqueue('waiting', timeout => '1 s', delay => '1 h');
end;
$$;

set local test.now = '2030-01-01 12:01:09.999999+00';
select is(
    rota.time_out_jobs(), 0,
    'the worker itself has the time-out and a grace of ten seconds to end a job'
);
set local test.now = '2030-01-01 12:01:10+00';
select is(
    rota.time_out_jobs(1), 1, 'then it is ended for it, no more at once than asked for'
);
select is(rota.time_out_jobs(), 2, 'the others the next time');
select bag_eq(
    $$ select j.kind, j.state, j.attempt, j.execution from rota.jobs as j $$,
    $$ values ('a', 'scheduled', 1, 1), ('b', 'scheduled', 1, 1), ('last', 'dead', 1,
       1),
        ('endless', 'running', 1, 1), ('waiting', 'scheduled', 0, 0) $$,
    'a job that timed out is charged and tried again, or dead; others are left alone'
);
select bag_eq(
    $$ select j.kind, e.outcome, e.error
       from rota.executions as e inner join rota.jobs as j on j.id = e.job_id $$,
    $$ values ('a', 'timed_out', 'timed out, and its worker did not end it'),
        ('b', 'timed_out', 'timed out, and its worker did not end it'),
        ('last', 'timed_out', 'timed out, and its worker did not end it'),
        ('endless', 'running', null) $$,
    'the time-out is on record'
);
select is(
    (select d.reason from rota.dead_letters as d), 'attempts_exhausted',
    'a time-out counts as a failure'
);
select throws_ok(
    $$ select rota.complete_job(j.id, 1) from rota.jobs as j where j.kind = 'a' $$,
    'RT001', null, 'the hanging worker can no longer complete it'
);
do $$
begin
    perform set_config('test.now', '2030-01-01 12:01:11+00', true);
    perform rota.promote_jobs();
    perform rota.claim_jobs(worker, max_jobs => 1) from ref;
end;
$$;
select results_eq(
    $$ select j.deadline_at, j.execution from rota.jobs as j where j.kind = 'a' $$,
    $$ values (timestamptz '2030-01-01 12:02:11+00', 2) $$,
    'the next execution has its full time'
);
do $$
begin
    perform rota.alter_settings(timeout_grace => '0');
    perform set_config('test.now', '2030-01-01 12:02:11+00', true);
end;
$$;
select is(rota.time_out_jobs(), 1, 'without grace it is ended at its deadline');
set local test.now = '2100-01-01 12:00+00';
select is(rota.time_out_jobs(), 0, 'a job without time-out is never timed out');
select is(
    (select j.state from rota.jobs as j where j.kind = 'endless'), 'running',
        'it runs on'
);
select lives_ok(
    'select rota.time_out_jobs(2147483647)', 'any maximum may be asked for'
);
select throws_ok(
    format('select rota.time_out_jobs(%s)', b.given), '22023', null,
    'refused: max_jobs ' || b.given
)
from (values ('null'), ('0'), ('-1')) as b (given);
select * from finish();
rollback;
