begin;
select plan(22);

do $$
begin
    perform rota.register_worker('w');
    perform rota.enqueue('k', idempotency_key => 'held');
    perform rota.claim_jobs((select max(id) from rota.worker));
end;
$$;

create temp table ref as
select
    (select max(id) from rota.job) as job,
    (select max(id) from rota.worker) as worker;

create function pg_temp.complete(p_id bigint, p_execution integer)
returns void
language sql
as $$
    select rota.complete_job(p_id, p_execution)
$$;

select throws_ok(
    'select pg_temp.complete(job, 0) from ref', 'RT001', 'lease lost',
    'an old execution is answered with RT001'
);
select throws_ok(
    'select rota.complete_job(-1, 1)', 'RT002', 'no such job',
    'a job that does not exist is answered with RT002'
);
select throws_ok(
    $$ select rota.enqueue('k', queue => 'nowhere') $$, 'RT003', 'no such queue',
    'a queue that does not exist is answered with RT003'
);
select throws_ok(
    'select pg_temp.complete(job, 2) from ref', 'RT005',
    'transition not allowed from this state',
    'a token never handed out is answered with RT005'
);
select throws_ok(
    $$ select rota.enqueue('k', idempotency_key => 'held',
       on_duplicate => 'replace') $$,
    'RT005', 'job cannot be replaced',
    'replacing a running job is answered with RT005'
);
select throws_ok(
    'select rota.heartbeat(-1)', 'RT007', 'worker lost or unknown',
    'a worker that does not exist is answered with RT007'
);
select throws_ok(
    $$ select rota.enqueue(repeat('k', 201)) $$, 'RT008', 'kind too large',
    'a name over its limit is answered with RT008'
);
select throws_ok(
    $$ select rota.enqueue('k', idempotency_key => 'held', on_duplicate => 'reject') $$,
    'RT009', 'idempotency key in use',
    'a key in use is answered with RT009 on request'
);
select throws_ok(
    $$ select rota.enqueue('k', priority => 32768) $$, '22023', 'invalid priority',
    'a wrong argument is answered with 22023'
);
select throws_ok(
    $$ select rota.enqueue('k', retry_policy => 'none') $$, '42704',
    'no such retry policy',
    'a retry policy that does not exist is answered with 42704'
);
select throws_ok(
    $$ select rota.create_queue('default') $$, '42710', 'queue already exists',
    'a second queue of one name is answered with 42710'
);
select throws_ok(
    $$ select rota.create_retry_policy('default') $$, '42710',
    'retry policy already exists',
    'a second retry policy of one name is answered with 42710'
);

/* Every error raised: code, message, detail and hint. */
create function pg_temp.raised(p_statement text)
returns table (code text, message text, detail text, hint text)
language plpgsql
as $$
begin
    execute p_statement;
exception
    when others then
        get stacked diagnostics
            code = returned_sqlstate,
            message = message_text,
            detail = pg_exception_detail,
            hint = pg_exception_hint;
        return next;
end;
$$;

create temp table told as
select r.*
from (
    values
    ('select pg_temp.complete(job, 0) from ref'),
    ('select rota.complete_job(-1, 1)'),
    ($$ select rota.enqueue('k', queue => 'no "such" '' queue') $$),
    ($$ select rota.enqueue('k', idempotency_key => 'held',
        on_duplicate => 'replace') $$),
    ('select rota.heartbeat(-1)'),
    ($$ select rota.enqueue(repeat('k', 201)) $$),
    ($$ select rota.enqueue('k', idempotency_key => 'held',
        on_duplicate => 'reject') $$),
    ($$ select rota.enqueue('k', retry_policy => 'none') $$),
    ($$ select rota.create_queue('default') $$),
    ('select rota.enqueue(null)')
) as s (statement)
cross join lateral pg_temp.raised(s.statement) as r;

select is(count(*)::integer, 10, 'each of these raises') from told;
select is_empty(
    $$ select * from told where message ~ '^[^a-z]|\.$|[0-9"'']' $$,
    'messages are constant lowercase phrases without a full stop'
);
select is_empty(
    $$ select * from told where coalesce(detail, '') = '' $$,
    'the detail always holds the values'
);
select is_empty(
    $$ select * from told
       where coalesce(hint, '') = '' and code not in ('RT002', '42710', '22023') $$,
    'where something can be done, a hint says what'
);
select is(
    (select detail from told where code = 'RT003'),
    'queue ''no "such" '''' queue''',
    'names in details are quoted'
);
select is(
    (select detail from told where code = 'RT001'),
    (select format('job %s is running with execution 1, asked for execution 0', job)
     from ref),
    'a lost lease is explained with both executions'
);

select throws_ok(
    $$ select rota.enqueue_jobs(
        array['a', 'b', 'c'], array['{}', '{}', '{}']::jsonb[],
        priorities => array[0, 0, 99999]) $$,
    '22023', 'invalid jobs[3].priority',
    'an error in a batch names the row and the field'
);
select throws_ok(
    $$ select rota.enqueue_jobs(
        array['a', repeat('b', 201)], array['{}', '{}']::jsonb[]) $$,
    'RT008', 'jobs[2].kind too large',
    'so does one about a limit'
);
select is(
    (select count(*)::integer from rota.jobs), 1,
    'none of the refused calls stored anything'
);
select lives_ok(
    $$ select rota.enqueue('k') $$, 'the session is usable after all of them'
);
select * from finish();
rollback;
