begin;
select plan(34);

create or replace function rota._now()
returns timestamptz
language sql
volatile
parallel unsafe
as $$
    select current_setting('test.now')::timestamptz
$$;
set local test.now = '2030-01-15 12:00:00+00';

create function pg_temp.fired(p_schedule text)
returns text[]
language sql
as $$
    select coalesce(array_agg(to_char(j.run_at at time zone 'UTC', 'DD HH24:MI')
        order by j.id), '{}')
    from rota.jobs as j
    where j.payload -> 'schedule' ->> 'name' = p_schedule
$$;

do $$
begin
    perform rota.create_schedule('latest', '* * * * *', 'k');
    perform rota.create_schedule('skip', '* * * * *', 'k', missed => 'skip');
    perform rota.create_schedule('skip late', '* * * * *', 'k', missed => 'skip',
        max_age => '10 s');
    perform rota.create_schedule('all', '*/10 * * * *', 'k', missed => 'all');
    perform rota.create_schedule('three', '*/10 * * * *', 'k', missed => 'all',
        max_missed => 3);
    perform rota.create_schedule('young', '*/10 * * * *', 'k', missed => 'all',
        max_age => '20 min');
    perform rota.create_schedule('old', '30 12 * * *', 'k', max_age => '10 min');
    perform rota.create_schedule('single', '*/10 * * * *', 'k', missed => 'all',
        overlap => 'skip');
    perform rota.create_schedule('later', '0 15 * * *', 'k');
end;
$$;

select is(
    rota._next_due(), '2030-01-15 12:01Z',
    'the next fire is when somebody has to look again'
);
set local test.now = '2030-01-15 12:47:30+00';
select cmp_ok(rota.materialize_schedules(), '=', 12, 'after a downtime of 47 minutes');
select is(
    pg_temp.fired('latest'), '{15 12:47}', 'latest makes up for all with one job'
);
select is(pg_temp.fired('skip'), '{15 12:47}', 'skip runs what is less than a minute old');
select is(pg_temp.fired('skip late'), '{}', 'or less than it says');
select is(
    pg_temp.fired('all'), '{15 12:10,15 12:20,15 12:30,15 12:40}', 'all runs each'
);
select is(pg_temp.fired('three'), '{15 12:20,15 12:30,15 12:40}', 'up to the limit');
select is(pg_temp.fired('young'), '{15 12:30,15 12:40}', 'and to the maximum age');
select is(pg_temp.fired('old'), '{}', 'which holds for latest too');
select is(
    pg_temp.fired('single'), '{15 12:40}', 'one live job at a time, if that is asked for'
);
select results_eq(
    $$ select s.schedule, s.missed_count, s.overlapped_count, s.next_fires[1]
       from rota.schedule_status as s order by s.schedule $$,
    $$ values ('all', 0::bigint, 0::bigint, '2030-01-15 12:50Z'::timestamptz),
        ('later', 0, 0, '2030-01-15 15:00Z'),
        ('latest', 46, 0, '2030-01-15 12:48Z'),
        ('old', 1, 0, '2030-01-16 12:30Z'),
        ('single', 0, 3, '2030-01-15 12:50Z'),
        ('skip', 46, 0, '2030-01-15 12:48Z'),
        ('skip late', 47, 0, '2030-01-15 12:48Z'),
        ('three', 1, 0, '2030-01-15 12:50Z'),
        ('young', 2, 0, '2030-01-15 12:50Z') $$,
    'what was not run is counted, and the next fire is computed from now'
);
select is(rota.materialize_schedules(), 0, 'nothing is fired twice');
select results_eq(
    $$ select j.payload, j.idempotency_key ~ '^schedule:[0-9]+:[0-9]+$', j.state
       from rota.jobs as j where j.payload -> 'schedule' ->> 'name' = 'latest' $$,
    $$ values ('{"schedule": {"name": "latest", "due_at": "2030-01-15T12:47:00Z"}}'::jsonb,
        true, 'queued') $$,
    'the payload and the idempotency key say which fire a job is'
);

set local test.now = '2030-01-15 12:50:01+00';
select cmp_ok(rota.materialize_schedules(), '>', 0, 'three minutes later');
select is(
    pg_temp.fired('single'), '{15 12:40}', 'a job still alive keeps the next one away'
);
select results_eq(
    $$ select s.overlapped_count, s.last_outcome from rota.schedule_status as s
       where s.schedule = 'single' $$,
    $$ values (4::bigint, 'queued') $$, 'which is counted'
);
select is(
    rota.run_schedule_now('single'), null, 'and run_schedule_now does not overlap either'
);
do $$
declare
    v_worker bigint := rota.register_worker('w', '1 h');
    v_job rota.claimed_job;
begin
    for v_job in select c.* from rota.claim_jobs(v_worker, max_jobs => 100) as c loop
        perform rota.complete_job(v_job.id, v_job.execution);
    end loop;
end;
$$;
set local test.now = '2030-01-15 13:00:00+00';
select cmp_ok(rota.materialize_schedules(), '>', 0, 'once it is done');
select is(pg_temp.fired('single'), '{15 12:40,15 13:00}', 'the next fire gets its job');
select is(
    (
        select s.last_outcome from rota.schedule_status as s where s.schedule = 'latest'
    ),
    'queued', 'the status tells how the last job is'
);

/* A month. */
set local test.now = '2030-02-15 13:00:20+00';
select cmp_ok(rota.materialize_schedules(), '>', 0, 'after a downtime of a month');
select is((pg_temp.fired('latest'))[4:], '{15 13:00}', 'latest still makes one job');
select is(cardinality(pg_temp.fired('three')), 3 + 1 + 1 + 3, 'all its limit');
select is(cardinality(pg_temp.fired('all')), 4 + 1 + 1 + 100, 'or the limit by default');
select is((pg_temp.fired('skip'))[4:], '{15 13:00}', 'skip what is due now');
select is(cardinality(pg_temp.fired('later')), 1, 'a daily one made one job as well');
select is(
    (select s.missed_count from rota.schedule_status as s where s.schedule = 'later'),
    30::bigint, 'for thirty-one days'
);

/* What a later server could no longer read, or a queue no longer take. */
update rota.schedule as s set timezone = 'Mars/Olympus' where s.name = 'latest';
update rota.schedule as s set expression = '60 * * * *' where s.name = 'skip';
do $$
begin
    perform rota.create_queue('small', max_payload_bytes => 100);
    perform rota.create_schedule('big', '* * * * *', 'k', queue => 'small');
    perform rota.alter_queue('small', max_payload_bytes => 20);
end;
$$;
set local test.now = '2030-02-15 13:10:00+00';
select is(rota.materialize_schedules(), 4, 'broken schedules do not stop the others');
select results_eq(
    $$ select s.schedule, left(s.error, 26), cardinality(s.next_fires)
       from rota.schedule_status as s where s.state = 'broken' order by s.schedule $$,
    $$ values ('big', 'payload too large: payload', 0),
        ('latest', 'time zone "Mars/Olympus" n', 0),
        ('skip', 'invalid cron expression: m', 0) $$,
    'and are set aside with their error'
);
select is(rota.materialize_schedules(), 0, 'for good');
select throws_ok(
    $$ select rota.resume_schedule('latest') $$, '22023', null,
    'what is still broken cannot be resumed'
);
select ok(rota.alter_schedule('latest', timezone => 'UTC'), 'what is mended');
select results_eq(
    $$ select s.state, s.error, s.next_fires[1] from rota.schedule_status as s
       where s.schedule = 'latest' $$,
    $$ values ('active', null, '2030-02-15 13:11Z'::timestamptz) $$, 'fires again'
);
select throws_ok(
    $$ select rota.materialize_schedules(0) $$, '22023', null,
    'the bound must be positive'
);
select * from finish();
rollback;
