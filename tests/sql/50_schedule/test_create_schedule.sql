begin;
select plan(36);

create or replace function rota._now()
returns timestamptz
language sql
volatile
parallel unsafe
as $$
    select current_setting('test.now')::timestamptz
$$;
set local test.now = '2030-01-15 12:00:07.5+00';

select is(
    rota.create_schedule('monthly', '0 0 1 * *', 'k'), 'created',
    'a new schedule is created'
);
select is(rota.materialize_schedules(), 0, 'a new schedule does not fire for the past');
select results_eq(
    $$ select s.next_fires from rota.schedule_status as s where s.schedule = 'monthly' $$,
    $$ values ('{2030-02-01Z,2030-03-01Z,2030-04-01Z}'::timestamptz[]) $$,
    'its first fires come after its creation'
);
set local test.now = '2030-01-20 12:00+00';
select is(
    rota.create_schedule('monthly', ' 0  0 1 * *	', 'k', timezone => 'utc'), 'unchanged',
    'to create it again is a no-op'
);
select results_eq(
    $$ select s.checked_at, s.next_fires[1] from rota.schedule as s $$,
    $$ values ('2030-01-15 12:00:07.5Z'::timestamptz, '2030-02-01Z'::timestamptz) $$,
    'which keeps what the schedule has been through'
);
select throws_ok(
    $$ select rota.create_schedule('monthly', '0 0 2 * *', 'k') $$,
    '42710', 'schedule already exists',
    'another definition under the same name is refused'
);
select is(
    rota.create_schedule('monthly', '0 0 1 * *', 'k', '{"a": 1}', replace => true),
    'changed', 'unless it is to replace the old one'
);
select results_eq(
    $$ select s.checked_at, s.payload from rota.schedule as s $$,
    $$ values ('2030-01-15 12:00:07.5Z'::timestamptz, '{"a": 1}'::jsonb) $$,
    'a new payload does not start the schedule afresh'
);
select is(
    rota.create_schedule('monthly', '0 0 3 * *', 'k', '{"a": 1}', replace => true),
    'changed', 'a new expression is a change'
);
select results_eq(
    $$ select s.checked_at, s.next_fires[1] from rota.schedule as s $$,
    $$ values ('2030-01-20 12:00Z'::timestamptz, '2030-02-03Z'::timestamptz) $$,
    'and starts the schedule afresh from now'
);
do $$ begin perform rota.pause_schedule('monthly', 'for now'); end $$;
select is(
    rota.create_schedule('monthly', '0 0 4 * *', 'k', replace => true), 'changed',
    'a paused schedule can be replaced'
);
select results_eq(
    $$ select s.state, s.pause_reason, cardinality(s.next_fires)
       from rota.schedule_status as s $$,
    $$ values ('paused', 'for now', 0) $$,
    'and stays paused'
);

select is(
    rota.create_schedule('zone', '0 0 * * *', 'k', timezone => 'america/NEW_york'),
    'created', 'a zone may be written in any case'
);
select is(
    (select s.timezone from rota.schedule_status as s where s.schedule = 'zone'),
    'America/New_York', 'and is stored as the database spells it'
);
select is(
    rota.create_schedule('x"; drop schema rota cascade; --', '@every 90s', 'y'''),
    'created', 'any printable name will do'
);
select results_eq(
    $$ select s.kind, s.next_fires[1:2] from rota.schedule_status as s
       where s.schedule like 'x%' $$,
    $$ values ('y''', '{"2030-01-20 12:01:30Z", "2030-01-20 12:03Z"}'::timestamptz[]) $$,
    '@every counts from the creation'
);

select throws_ok(
    format(c.statement, 'bad'), c.code, null, c.statement || ' answers ' || c.code
)
from (
    values
    ('select rota.create_schedule(%L, ''60 * * * *'', ''k'')', 'RT004'),
    ('select rota.create_schedule(%L, null, ''k'')', 'RT004'),
    ('select rota.create_schedule(%L, ''0 0 31 2 *'', ''k'')', 'RT004'),
    ('select rota.create_schedule(%L, ''@daily'', ''k'', timezone => ''UTC+5'')', 'RT004'),
    ('select rota.create_schedule(%L, ''@daily'', ''k'', timezone => null)', 'RT004'),
    ('select rota.create_schedule(%L, ''30 2 * 3 0#2'', ''k'', gap => ''skip'','
        ' timezone => ''America/New_York'')', 'RT004'),
    ('select rota.create_schedule(%L, ''@daily'', ''k'', queue => ''nowhere'')', 'RT003'),
    ('select rota.create_schedule(%L, ''@daily'', null)', '22023'),
    ('select rota.create_schedule(%L, ''@daily'', ''k'', null)', '22023'),
    ('select rota.create_schedule(%L, ''@daily'', ''k'', ''{"schedule": 1}'')', '22023'),
    ('select rota.create_schedule(%L, ''@daily'', repeat(''k'', 300))', 'RT008'),
    ('select rota.create_schedule(%L, ''@daily'', ''k'', priority => 40000)', '22023'),
    ('select rota.create_schedule(%L, ''@daily'', ''k'', retry_policy => ''no'')', '42704'),
    ('select rota.create_schedule(%L, ''@daily'', ''k'', missed => ''some'')', '22023'),
    ('select rota.create_schedule(%L, ''@daily'', ''k'', max_missed => 0)', '22023'),
    ('select rota.create_schedule(%L, ''@daily'', ''k'', max_age => ''-1 h'')', '22023'),
    ('select rota.create_schedule(%L, ''@daily'', ''k'', overlap => null)', '22023')
) as c (statement, code);
select throws_ok(
    $$ select rota.create_schedule(' ', '@daily', 'k') $$, '22023', null,
    'a blank name is refused'
);
select is_empty(
    $$ select from rota.schedule as s where s.name = 'bad' $$,
    'what is refused stores nothing'
);
select throws_ok(
    $$ select rota.create_schedule('big', '@daily', 'k', to_jsonb(repeat('x', 3000000))) $$,
    'RT008', null, 'a payload that its queue would not take is refused'
);
select * from finish();
rollback;
