begin;
select plan(7);

/* A hostile caller: names that rota's functions use without a schema, and operators
that fit their arguments, in a schema ahead of the catalog and in pg_temp. Whatever of
it runs leaves a mark; sequences count even inside a transaction that fails. */
create schema trap;
create sequence trap.mark;

create function trap.spring()
returns boolean
language sql
volatile
as $$
    select pg_catalog.nextval('trap.mark') operator(pg_catalog.>) 0
$$;

/* Operators on the very types of ids, names and instants. */
create function trap.evil_less(integer, integer) returns boolean
language sql as $$ select trap.spring() $$;
create function trap.evil_text(text, text) returns boolean
language sql as $$ select trap.spring() $$;
create function trap.evil_bigint(bigint, bigint) returns boolean
language sql as $$ select trap.spring() $$;
create function trap.evil_time(timestamptz, timestamptz) returns boolean
language sql as $$ select trap.spring() $$;
create function trap.evil_interval(interval, interval) returns boolean
language sql as $$ select trap.spring() $$;
create function trap.evil_array(anyarray, anyarray) returns boolean
language sql as $$ select trap.spring() $$;

do $$
declare
    v_operator text;
    v_type text;
begin
    foreach v_operator in array '{=,<>,<,>,<=,>=}'::text[] loop
        for v_type in
            select unnest('{integer,text,bigint,timestamptz,interval}'::text[])
        loop
            execute format(
                'create operator trap.%s (leftarg = %s, rightarg = %s, function = %s)',
                v_operator, v_type, v_type,
                case v_type
                    when 'integer' then 'trap.evil_less'
                    when 'text' then 'trap.evil_text'
                    when 'bigint' then 'trap.evil_bigint'
                    when 'timestamptz' then 'trap.evil_time'
                    else 'trap.evil_interval'
                end
            );
        end loop;
    end loop;
end;
$$;

/* Functions of the same name and arguments. */
create function trap.clock_timestamp() returns timestamptz
language sql as $$
    select case when trap.spring() then '1970-01-01'::pg_catalog.timestamptz end
$$;
create function trap.random() returns double precision
language sql as $$ select case when trap.spring() then 0.0::double precision end $$;
create function trap.nextval(text) returns bigint
language sql as $$ select case when trap.spring() then 1::bigint end $$;
create function trap.nextval(regclass) returns bigint
language sql as $$ select case when trap.spring() then 1::bigint end $$;
create function trap.length(text) returns integer
language sql as $$ select case when trap.spring() then 1 end $$;
create function trap.cardinality(anyarray) returns integer
language sql as $$ select case when trap.spring() then 1 end $$;
create function trap.format(text, text) returns text
language sql as $$ select case when trap.spring() then 'x' end $$;
create function trap.pg_notify(text, text) returns void
language sql as $$ select case when trap.spring() then null end $$;
create function trap.hashtextextended(text, bigint) returns bigint
language sql as $$ select case when trap.spring() then 1::bigint end $$;
create function trap.abs(integer) returns integer
language sql as $$ select case when trap.spring() then 1 end $$;

/* Tables that pretend to be rota's, in the schema that is searched first by default. */
create temp table job (like rota.job);
create temp table queue (like rota.queue);
create temp table worker (like rota.worker);
create temp table setting (like rota.setting);
create temp table pg_class (relname text);
create temp table pg_inherits (inhrelid oid);
create type pg_temp.timestamptz as enum ('evil');
create type trap.interval as enum ('evil');

/* One call under a path that puts the catalog last. */
create function pg_temp.call(p_statement text)
returns text
language plpgsql
set search_path = trap, pg_temp, pg_catalog
as $$
declare
    v_answer pg_catalog.text;
begin
    execute p_statement into v_answer;
    return v_answer;
end;
$$;

do $$
declare
    v_worker text;
    v_statement text;
    v_ids text;
begin
    foreach v_statement in array array[
        'create_retry_policy(''p'', jitter => ''none'')',
        'alter_retry_policy(''p'', base => ''1 h'', jitter => ''fraction'')',
        'create_queue(''q'', retry_policy => ''p'', retention => ''1 h'')',
        'create_queue(''r'', retention => ''0'')',
        'alter_queue(''q'', max_attempts => 3)',
        'alter_settings(retention => ''20 days'')',
        'pause_queue(''q'')',
        'resume_queue(''q'')',
        'enqueue(''k'', queue => ''q'', idempotency_key => ''key'', delay => ''1 h'')',
        'enqueue(''k'', queue => ''q'', idempotency_key => ''key'','
            ' on_duplicate => ''replace'')',
        'enqueue(''k'', queue => ''r'')',
        'enqueue_jobs(''{a,b,c,d,e,f,g,h}'', ''{1,2,3,4,5,6,7,8}'', ''q'','
            ' priorities => ''{8,7,6,5,4,3,2,1}'')'
    ] loop
        perform pg_temp.call('select rota.' || v_statement);
    end loop;

    v_worker := pg_temp.call('select rota.register_worker(''w'', ''1 day'')');
    perform pg_temp.call(format('select rota.heartbeat(%s)', v_worker));
    perform pg_temp.call(format('select rota.claim_jobs(%s, ''{q}'', 7)', v_worker));
    for v_statement in
        select format(s.statement, j.id)
        from rota.jobs as j
        inner join (
            values
            ('a', 'complete_job(%s, 1)'),
            ('b', 'fail_job(%s, 1, ''e'', false)'),
            ('c', 'fail_job(%s, 1, ''e'')'),
            ('d', 'release_job(%s, 1)'),
            ('e', 'snooze_job(%s, 1, ''1 h'')'),
            ('f', 'cancel_job(%s, ''why'')'),
            ('h', 'cancel_job(%s, ''why'')')
        ) as s (kind, statement) using (kind)
    loop
        perform pg_temp.call('select rota.' || v_statement);
    end loop;
    select format('''{%s}'', ''{1}''', j.id) into v_ids from rota.jobs as j
    where j.kind = 'g';
    perform pg_temp.call(format(
        'select rota.exchange(%s, ''{q,r}'', 2, %s, null, ''[{"id": 1, "execution": 1,'
        ' "outcome": "failed", "delay": 1}]'')', v_worker, v_ids
    ));
    foreach v_statement in array array[
        'replay_dead(queue => ''q'', payload_patch => null)',
        'purge_dead(queue => ''q'')',
        'create_schedule(''s'', ''@every 1s'', ''k'')',
        'alter_schedule(''s'', ''0 0 1 * MON#2'', timezone => ''Europe/Paris'')',
        'run_schedule_now(''s'')',
        'pause_schedule(''s'', ''why'')',
        'resume_schedule(''s'')',
        'explain_schedule(''s'', until => ''2100-01-01Z'')',
        'cron_next(''30 2 * * *'', ''America/New_York'', ''2027-03-14Z'')',
        'cron_describe(''*/15 9-17 * * MON-FRI'')',
        'materialize_schedules()',
        'maintain()',
        format('deregister_worker(%s)', v_worker),
        'version()'
    ] loop
        perform pg_temp.call('select rota.' || v_statement);
    end loop;
    foreach v_statement in array
        '{jobs,executions,queue_stats,worker_status,dead_letters,settings}'::text[]
    loop
        perform pg_temp.call('select max(v) from (select 1 as v from rota.'
            || v_statement || ') as s');
    end loop;
end;
$$;

create function pg_temp.marks()
returns bigint
language sql
as $$
    select case when is_called then last_value else 0 end from trap.mark
$$;

select is(pg_temp.marks(), 0::bigint, 'nothing of a hostile search path is executed');
select is(
    (select count(*)::integer from rota.jobs), 11, 'and the verbs do what they should'
);
select bag_eq(
    $$ select j.kind, j.state from rota.jobs as j where j.queue = 'q' $$,
    $$ values ('k', 'queued'), ('a', 'completed'), ('b', 'queued'), ('c', 'scheduled'),
        ('d', 'queued'), ('e', 'scheduled'), ('f', 'cancelled'), ('g', 'completed'),
        ('h', 'cancelled') $$,
    'to each job'
);
select is(
    (select count(*)::integer from pg_temp.job), 0, 'no row went to a false table'
);
select throws_like(
    $$ select pg_temp.call('select rota.claim_jobs(0)') $$, 'worker lost or unknown',
    'errors are raised as ever'
);
select is(pg_temp.marks(), 0::bigint, 'and raising them executes nothing either');

do $$
begin
    perform pg_temp.call('select clock_timestamp()');
end;
$$;
select is(pg_temp.marks(), 1::bigint, 'the trap works: who trusts the path is caught');
select * from finish();
rollback;
