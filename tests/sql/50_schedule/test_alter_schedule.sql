begin;
select plan(33);

create or replace function rota._now()
returns timestamptz
language sql
volatile
parallel unsafe
as $$
    select current_setting('test.now')::timestamptz
$$;
set local test.now = '2030-01-15 12:00:07+00';

do $$
begin
    perform rota.create_schedule('s', '*/5 * * * *', 'k');
    perform rota.create_schedule('e', '@every 7m', 'k');
end;
$$;
create function pg_temp.jobs()
returns bigint
language sql
as $$ select count(*) from rota.jobs $$;

set local test.now = '2030-01-15 12:03+00';
select ok(
    rota.alter_schedule('s', priority => 5, max_age => '1 day', timeout => '5 min'),
    'a change is told'
);
select ok(not rota.alter_schedule('s', priority => 5), 'the same again is none');
select results_eq(
    $$ select s.priority, s.max_age, s.timeout, s.next_fires[1]
       from rota.schedule_status as s where s.schedule = 's' $$,
    $$ values (5::smallint, interval '1 day', interval '5 min',
        '2030-01-15 12:05Z'::timestamptz) $$,
    'the rest stays as it was'
);
select ok(
    rota.alter_schedule('s', reset => '{max_age,timeout}'), 'a setting can be put back'
);
select results_eq(
    $$ select s.priority, s.max_age, s.timeout from rota.schedule_status as s
       where s.schedule = 's' $$,
    $$ values (5::smallint, null::interval, null::interval) $$,
    'and only that one'
);

do $$
begin
    perform rota.create_queue('q');
end;
$$;
select ok(rota.alter_schedule('s', queue => 'q'), 'the queue can be changed');
select is(
    (select s.queue from rota.schedule_status as s where s.schedule = 's'), 'q',
    'and is the one given'
);
do $$
begin
    perform rota.alter_schedule('s', queue => 'default');
end;
$$;

/* Due at 12:05, but changed before anyone looked. */
set local test.now = '2030-01-15 12:07:10+00';
select ok(rota.alter_schedule('s', expression => '*/6 * * * *'), 'another expression');
select is(rota.materialize_schedules(), 1, 'fires nothing for the past');
select is(
    (select array_agg(j.payload -> 'schedule' ->> 'name') from rota.jobs as j), '{e}',
    'while the other schedule fires'
);
set local test.now = '2030-01-15 12:12+00';
select is(rota.materialize_schedules(), 1, 'but from now on');
select ok(
    rota.alter_schedule('s', timezone => 'Asia/Kathmandu'), 'another zone'
);
select is(rota.materialize_schedules(), 0, 'does not fire the same instant again');
select results_eq(
    $$ select s.next_fires[1] from rota.schedule_status as s where s.schedule = 's' $$,
    $$ values ('2030-01-15 12:15Z'::timestamptz) $$,
    'minutes divisible by 6 are others where offsets end in a quarter'
);
select ok(rota.alter_schedule('e', payload => '[1]'), 'another payload');
select is(
    (select s.next_fires[1] from rota.schedule_status as s where s.schedule = 'e'),
    '2030-01-15 12:14:07Z', 'does not restart @every'
);
select throws_ok(
    $$ select rota.alter_schedule('s', expression => '* * *') $$, 'RT004', null,
    'an invalid change is refused'
);
select is(
    (select s.expression from rota.schedule_status as s where s.schedule = 's'),
    '*/6 * * * *', 'and stores nothing'
);
select throws_ok(
    $$ select rota.alter_schedule('s', reset => '{queue}') $$, '22023', null,
    'what has no default cannot be put back'
);
select throws_ok(
    $$ select rota.alter_schedule('nobody') $$, '42704', 'no such schedule',
    'no such schedule'
);
select throws_ok(
    $$ select rota.alter_schedule(null) $$, '22023', null, 'a schedule has a name'
);

select ok(rota.pause_schedule('s', 'holidays'), 'a schedule can be paused');
select ok(not rota.pause_schedule('s'), 'once');
set local test.now = '2030-01-15 14:00:30+00';
select is(rota.materialize_schedules(), 1, 'a paused schedule does not fire');
select ok(rota.resume_schedule('s'), 'it can be resumed');
select ok(not rota.resume_schedule('s'), 'once');
select is(rota.materialize_schedules(), 0, 'and does not fire for the time it slept');
select results_eq(
    $$ select s.state, s.pause_reason, s.next_fires[1], s.missed_count
       from rota.schedule_status as s where s.schedule = 's' $$,
    $$ values ('active', null, '2030-01-15 14:03Z'::timestamptz, 0::bigint) $$,
    'nor count it as missed'
);

select is(
    (
        select j.payload
        from rota.jobs as j
        where j.id = rota.run_schedule_now('s')
    ),
    null, 'run_schedule_now is seen by the next statement'
);
select results_eq(
    $$ select j.payload, j.state, j.idempotency_key from rota.jobs as j
       order by j.id desc limit 1 $$,
    $$ values ('{"schedule": {"name": "s", "due_at": "2030-01-15T14:00:30Z"}}'::jsonb,
        'queued', null::text) $$,
    'as a job that is due now and is no fire'
);
select is(
    (select s.next_fires[1] from rota.schedule_status as s where s.schedule = 's'),
    '2030-01-15 14:03Z', 'and leaves the next fire alone'
);
select ok(rota.drop_schedule('s'), 'a schedule can be dropped');
select ok(not rota.drop_schedule('s'), 'once');
select * from finish();
rollback;
