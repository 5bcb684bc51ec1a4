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

/* The job that one more call of enqueue stores. */
create function pg_temp.stored(p_arguments text)
returns rota.jobs
language plpgsql
as $$
declare
    v_id bigint;
    v_job rota.jobs;
begin
    execute format('select rota.enqueue(%s)', p_arguments) into v_id;
    select j.* into v_job from rota.jobs as j where j.id = v_id;
    return v_job;
end;
$$;

do $$
begin
    perform rota.create_queue(
        'mail', max_attempts => 4, timeout => '1 minute', max_payload_bytes => 20
    );
end;
$$;

create temp table made as
select
    rota.enqueue('plain') as plain,
    rota.enqueue(
        kind => 'full', payload => '{"a": 1}', queue => 'mail', priority => -5,
        run_at => '2030-01-01 13:00+00', idempotency_key => 'k', max_attempts => 2,
        retry_policy => 'default', timeout => '5 s'
    ) as "full",
    rota.enqueue('delayed', delay => '90 s') as delayed,
    rota.enqueue('late', run_at => '2029-01-01 00:00+00') as late,
    rota.enqueue('mail', queue => 'mail') as inherited;

select results_eq(
    $$ select j.state, j.queue, j.priority, j.kind, j.payload, j.run_at, j.created_at,
           j.attempt, j.max_attempts, j.execution, j.lost_count, j.timeout,
           j.idempotency_key
       from rota.jobs as j, made where j.id = made.plain $$,
    $$ values ('queued', 'default', 0::smallint, 'plain', '{}'::jsonb,
           timestamptz '2030-01-01 12:00+00', timestamptz '2030-01-01 12:00+00',
           0, 10, 0, 0, null::interval, null::text) $$,
    'a job with nothing but a kind is due now, on the default queue'
);
select results_eq(
    $$ select j.state, j.queue, j.priority, j.kind, j.payload, j.run_at,
           j.max_attempts, j.timeout, j.idempotency_key
       from rota.jobs as j, made where j.id = made."full" $$,
    $$ values ('scheduled', 'mail', (-5)::smallint, 'full', '{"a": 1}'::jsonb,
           timestamptz '2030-01-01 13:00+00', 2, interval '5 s', 'k') $$,
    'whatever is asked for a job is stored'
);
select results_eq(
    $$ select j.state, j.run_at from rota.jobs as j, made where j.id = made.delayed $$,
    $$ values ('scheduled', timestamptz '2030-01-01 12:01:30+00') $$,
    'a delay counts from now'
);
select results_eq(
    $$ select j.state, j.run_at from rota.jobs as j, made where j.id = made.late $$,
    $$ values ('queued', timestamptz '2029-01-01 00:00+00') $$,
    'a job due in the past is queued at once'
);
select results_eq(
    $$ select j.max_attempts, j.timeout
       from rota.jobs as j, made where j.id = made.inherited $$,
    $$ values (4, interval '1 minute') $$,
    'what the job leaves open, its queue decides'
);
select is(
    (pg_temp.stored(format('''odd'', %L', p.payload))).payload,
    p.payload::jsonb,
    format('the payload may be %s', p.payload)
)
from (
    values ('null'), ('7'), ('"text"'), ('[]'), ('true'), ('{"": {"a": [1, null]}}')
) as p (payload);
select is(
    (j.kind, j.idempotency_key)::text,
    (s.text, s.text)::text,
    'stored as it stands: ' || s.text
)
from (
    values
    ('x''; drop schema rota cascade; --'),
    ('"; select pg_sleep(60); --'),
    ('$$; drop table rota.job; $$'),
    ('%I %s %L {} \x00 ${now}'),
    ('two  words, '' quotes "')
) as s (text)
cross join lateral pg_temp.stored(format('%L, idempotency_key => %L', s.text,
    s.text)) as j;
select is(
    (pg_temp.stored(format('''k'', priority => %s', p.priority))).priority::integer,
    p.priority,
    format('priority %s is stored', p.priority)
)
from unnest('{-32768,-1,0,1,32767}'::integer[]) as p (priority);
select lives_ok(
    $$ select rota.enqueue(repeat('k', 200), idempotency_key => repeat('x', 500)) $$,
    'kind and key may be as long as their limits'
);
select lives_ok(
    $$ select rota.enqueue('k', jsonb_build_object('a', repeat('x', 11)), 'mail') $$,
    'a payload of exactly the limit is stored'
);
select lives_ok(
    format('select rota.enqueue(''k'', delay => %L)', d.delay),
    format('a delay of %s is stored', d.delay)
)
from (
    values ('0'), ('1 microsecond'), ('1 day -1 hour'), ('1 month'), ('100 years')
) as d (delay);

create temp table before_refusals as
select count(*) as jobs from rota.jobs;

select throws_ok(
    format('select rota.enqueue(%s)', b.arguments), b.code, null,
    format('refused with %s: %s', b.code, left(b.arguments, 60))
)
from (
    values
    ('null', '22023'),
    (''''''::text, '22023'),
    (''' ''', '22023'),
    ('e''a\nb''', '22023'),
    ('e''a\u0007b''', '22023'),
    ('repeat(''k'', 201)', 'RT008'),
    ('repeat(''k'', 1000000)', 'RT008'),
    ('''k'', null', '22023'),
    ('''k'', ''{"a": "xxxxxxxxxxxx"}'', ''mail''', 'RT008'),
    ('''k'', queue => null', '22023'),
    ('''k'', queue => ''''', 'RT003'),
    ('''k'', queue => ''Default''', 'RT003'),
    ('''k'', queue => ''x''''; drop schema rota; --''', 'RT003'),
    ('''k'', priority => null', '22023'),
    ('''k'', priority => 32768', '22023'),
    ('''k'', priority => -32769', '22023'),
    ('''k'', priority => 2147483647', '22023'),
    ('''k'', run_at => ''infinity''', '22023'),
    ('''k'', run_at => ''-infinity''', '22023'),
    ('''k'', run_at => ''10000-01-01''', '22023'),
    ('''k'', run_at => ''294276-12-31''', '22023'),
    ('''k'', run_at => ''2030-01-01'', delay => ''1 s''', '22023'),
    ('''k'', delay => ''-1 microsecond''', '22023'),
    ('''k'', delay => ''101 years''', '22023'),
    ('''k'', delay => ''178000000 years''', '22023'),
    ('''k'', delay => ''1000000 years -360000000 days''', '22023'),
    ('''k'', delay => ''-1 year 361 days''', '22023'),
    ('''k'', delay => ''-6957 years 2541045 days''', '22023'),
    ('''k'', idempotency_key => ''''', '22023'),
    ('''k'', idempotency_key => e''a\tb''', '22023'),
    ('''k'', idempotency_key => repeat(''x'', 501)', 'RT008'),
    ('''k'', on_duplicate => null', '22023'),
    ('''k'', on_duplicate => ''ignore''', '22023'),
    ('''k'', key_ttl => ''-1 s''', '22023'),
    ('''k'', key_ttl => ''200 years''', '22023'),
    ('''k'', max_attempts => 0', '22023'),
    ('''k'', max_attempts => -1', '22023'),
    ('''k'', retry_policy => ''none''', '42704'),
    ('''k'', retry_policy => ''''', '42704'),
    ('''k'', timeout => ''0''', '22023'),
    ('''k'', timeout => ''-1 s''', '22023'),
    ('''k'', timeout => ''1000000 years -359999999 days''', '22023')
) as b (arguments, code);
select is(
    (select count(*) from rota.jobs), b.jobs, 'nothing that was refused was stored'
)
from before_refusals as b;
select is(
    (select count(*)::integer from rota.lane as l
     where l.queue_id = (select q.id from rota.queue as q where q.name = 'mail')),
    2, 'nor did it leave a lane behind'
);
select * from finish();
rollback;
