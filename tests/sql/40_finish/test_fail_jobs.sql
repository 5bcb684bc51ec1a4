begin;
select plan(44);

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
    perform rota.create_retry_policy(
        'minute', 'fixed', base => '1 min', jitter => 'none'
    );
    perform rota.create_retry_policy(
        'steps', 'list', delays => '{1 s,2 s}'::interval[], jitter => 'none'
    );
    perform rota.create_queue('q', max_attempts => 3, retry_policy => 'minute');
    perform rota.enqueue_jobs(
        '{a,b,c,d,e,f,g}', array_fill('{"p": 1}'::jsonb, array[7]), 'q'
    );
    perform rota.enqueue(
        'own', queue => 'q', retry_policy => 'steps', max_attempts => 4
    );
    perform rota.claim_jobs(worker, '{q}', 8) from ref;
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

select results_eq(
    $$ select k.kind, f.state, f.run_at
       from rota.fail_jobs(
           array[pg_temp.id('a'), pg_temp.id('b'), pg_temp.id('c'), pg_temp.id('d')],
           '{1,1,1,1}', array['e1', 'e2', 'e3', null],
           array[true, false, null, true],
           array[null, null, '5 s', '0']::interval[]) as f
       inner join job as k using (id) order by k.kind $$,
    $$ values
       ('a', 'scheduled', timestamptz '2030-01-01 12:01+00'),
       ('b', 'dead', null),
       ('c', 'scheduled', '2030-01-01 12:00:05+00'),
       ('d', 'queued', '2030-01-01 12:00+00') $$,
    'a failed job waits for the delay of its policy or the one given, or is dead'
);
select results_eq(
    $$ select e.execution, e.attempt, e.outcome, e.error, e.finished_at, k.kind
       from rota.executions as e inner join job as k on k.id = e.job_id
       where e.outcome <> 'running' order by k.kind $$,
    $$ values
       (1, 1, 'failed', 'e1', timestamptz '2030-01-01 12:00+00', 'a'),
       (1, 1, 'failed', 'e2', '2030-01-01 12:00+00', 'b'),
       (1, 1, 'failed', 'e3', '2030-01-01 12:00+00', 'c'),
       (1, 1, 'failed', null, '2030-01-01 12:00+00', 'd') $$,
    'each failed execution is on record with its error'
);
select results_eq(
    $$ select d.kind, d.reason, d.error, d.payload, d.attempt, d.died_at
       from rota.dead_letters as d $$,
    $$ values ('b', 'not_retryable', 'e2', '{"p": 1}'::jsonb, 1,
           timestamptz '2030-01-01 12:00+00') $$,
    'a job that failed for good is a dead letter with its reason'
);
select results_eq(
    $$ select k.kind, f.state
       from rota.fail_jobs(
           array[pg_temp.id('a'), pg_temp.id('b'), pg_temp.id('e'), pg_temp.id('f')],
           '{1,1,2,0}', '{x,x,x,x}') as f
       inner join job as k using (id) order by k.kind $$,
    $$ values ('a', 'scheduled'), ('b', 'dead') $$,
    'a failure sent again is answered with the present state; other tokens are not'
);
select is(
    (select count(*)::integer from rota.executions where outcome = 'failed'), 4,
    'and is recorded once'
);
select results_eq(
    $$ select f.id, f.state from rota.fail_jobs(
        array[pg_temp.id('e'), pg_temp.id('e')], '{1,1}', '{x,y}') as f $$,
    $$ values (pg_temp.id('e'), 'scheduled') $$,
    'a batch that names an execution twice ends it once'
);

/* Attempts. */
create function pg_temp.fail_again(p_kind text, p_times integer)
returns setof text
language plpgsql
as $$
declare
    v_job rota.jobs;
begin
    for i in 1..p_times loop
        select j.* into v_job from rota.jobs as j where j.id = pg_temp.id(p_kind);
        if v_job.state <> 'running' then
            perform set_config('test.now', v_job.run_at::text, true);
            perform rota.promote_jobs();
            perform rota.claim_jobs(worker, '{q}', 100) from ref;
        end if;
        return query
        select concat_ws(' ', f.state, f.run_at - rota._now())
        from rota.jobs as j
        cross join lateral rota.fail_job(j.id, j.execution, 'error ' || i) as f
        where j.id = v_job.id;
    end loop;
end;
$$;
select results_eq(
    $$ select pg_temp.fail_again('own', 4) $$,
    $$ values ('scheduled 00:00:01'), ('scheduled 00:00:02'), ('scheduled 00:00:02'),
        ('dead') $$,
    'a job with a policy of its own follows it until its attempts are used up'
);
select results_eq(
    $$ select d.reason, d.error, d.attempt, d.max_attempts, d.execution
       from rota.dead_letters as d where d.kind = 'own' $$,
    $$ values ('attempts_exhausted', 'error 4', 4, 4, 4) $$,
    'the dead letter holds the last error'
);
select results_eq(
    $$ select e.execution, e.attempt, e.error from rota.executions as e
       where e.job_id = pg_temp.id('own') order by 1 $$,
    $$ select g, g, 'error ' || g from generate_series(1, 4) as g $$,
    'each attempt is on record'
);
select results_eq(
    $$ select pg_temp.fail_again('f', 3) $$,
    $$ values ('scheduled 00:01:00'), ('scheduled 00:01:00'), ('dead') $$,
    'the queue decides for the others'
);
select is_empty(
    $$ select j.id from rota.jobs as j where j.attempt > j.max_attempts $$,
    'nobody is charged more than allowed'
);

/* Any number of attempts. */
create function pg_temp.fail_after(p_attempt integer)
returns rota.settled_job
language plpgsql
as $$
declare
    v_id constant bigint := rota.enqueue('many', max_attempts => 2147483647);
begin
    perform rota.claim_jobs(worker) from ref;
    update rota.job set attempt = p_attempt, execution = p_attempt where id = v_id;
    return rota.fail_job(v_id, p_attempt, 'error');
end;
$$;
select ok(
    f.state = 'scheduled'
    and f.run_at > rota._now() and f.run_at <= rota._now() + interval '1 hour',
    format('a job that fails for the %s. time is tried again within the hour',
        a.attempt)
)
from unnest('{16,64,305,1000,2000000000}'::integer[]) as a (attempt)
cross join lateral pg_temp.fail_after(a.attempt) as f;

/* Error texts. */
do $$
begin
    perform rota.fail_job(j.id, j.execution, repeat('x', 1000000))
    from rota.jobs as j
    where j.kind = 'g';
end;
$$;
select is(
    (select max(length(e.error)) from rota.executions as e), 20000,
    'an endless error text is cut'
);
create temp table last as
select rota.enqueue('last', queue => 'q') as id;
do $$
begin
    perform rota.claim_jobs(worker, '{q}', 100) from ref;
end;
$$;
select lives_ok(
    $$ select rota.fail_job(id, 1,
       'it''s; drop table rota.job; -- ' || e'\n\u00e9\t"') from last $$,
    'any text may be an error'
);
select is(
    (select e.error from rota.executions as e, last where e.job_id = last.id),
    'it''s; drop table rota.job; -- ' || e'\n\u00e9\t"',
    'and is stored as it stands'
);

select throws_ok(
    format('select rota.fail_jobs(%s)', b.arguments), '22023', null,
    'refused: ' || b.arguments
)
from (
    values
    ('null, null, null'),
    ('''{1}'', ''{1}'', null'),
    ('''{1}'', null, ''{e}'''),
    ('null, ''{1}'', ''{e}'''),
    ('''{1,2}'', ''{1}'', ''{e}'''),
    ('''{1}'', ''{1}'', ''{}'''),
    ('''{1}'', ''{1}'', ''{e,f}'''),
    ('''{1}'', ''{1}'', ''{e}'', ''{}'''),
    ('''{1}'', ''{1}'', ''{e}'', ''{true,true}'''),
    ('''{1}'', ''{1}'', ''{e}'', null, ''{}'''),
    ('''{1}'', ''{1}'', ''{e}'', null, array[''1 s'', ''1 s'']::interval[]'),
    ('''{1}'', ''{1}'', ''{e}'', null, array[''-1 s'']::interval[]'),
    ('''{1}'', ''{1}'', ''{e}'', null, array[''101 years'']::interval[]'),
    ('''{1}'', ''{1}'', ''{e}'', null,'
        ' array[''1000000 years -360000000 days'']::interval[]'),
    ('array[null::bigint], ''{1}'', ''{e}'''),
    ('''{1}'', array[null::integer], ''{e}'''),
    ('''{{1,null}}'', ''{1,1}'', ''{e,e}''')
) as b (arguments);
select throws_ok(
    format('select rota.fail_job(%s)', b.arguments), b.code, null,
    format('one refused with %s: %s', b.code, b.arguments)
)
from (
    values
    ('null, 1, ''e''', '22023'),
    ('1, null, ''e''', '22023'),
    ('0, 1, ''e''', 'RT002'),
    ('0, 1, ''e'', delay => ''-1 s''', '22023')
) as b (arguments, code);
select is_empty(
    $$ select * from rota.fail_jobs('{}', '{}', '{}') $$, 'an empty batch is fine'
);
select lives_ok(
    $$ select rota.fail_jobs(
        array[array[pg_temp.id('g'), 0]], array[array[9, 9]], array[array['e',
            'e']]) $$,
    'tokens in several dimensions are tokens'
);
select lives_ok(
    $$ select rota.fail_job(j.id, j.execution, null, null, '100 years')
       from rota.jobs as j where j.kind = 'c' and j.state = 'running' $$,
    'an error need not have a text'
);
select is(
    (select j.state from rota.jobs as j where j.kind = 'c'), 'scheduled',
    'an attempt that is not said to be final is not'
);
select * from finish();
rollback;
