begin;
select plan(560);

/* Each pair of state and verb, on a job of its own in a queue of its own. */
create sequence pg_temp.number;
create temp table ref as
select rota.register_worker('w') as worker;

create function pg_temp.claim(p_queue text)
returns integer
language sql
as $$
    select (rota.claim_jobs(worker, array[p_queue])).execution from ref
$$;

create function pg_temp.job_that_is(p_state text)
returns bigint
language plpgsql
as $$
declare
    v_queue constant text := 'q' || nextval('pg_temp.number');
    v_id bigint;
    v_execution integer;
begin
    if p_state = 'unknown' then
        return -nextval('pg_temp.number');
    end if;
    perform rota.create_queue(v_queue);
    v_id := rota.enqueue(
        'k', queue => v_queue,
            delay => case p_state when 'scheduled' then interval '1 h' end
    );
    case p_state
        when 'scheduled', 'queued' then
            null;
        when 'cancelled' then
            perform rota.cancel_job(v_id);
        else
            v_execution := pg_temp.claim(v_queue);
    end case;
    case p_state
        when 'retrying' then
            perform rota.fail_job(v_id, 1, 'error');
        when 'returned' then
            perform rota.release_job(v_id, 1);
        when 'running' then
            perform rota.release_job(v_id, 1);
            perform pg_temp.claim(v_queue);
        when 'completed' then
            perform rota.complete_job(v_id, 1);
        when 'stopped' then
            perform rota.cancel_job(v_id);
            perform rota.fail_job(v_id, 1, 'stopped');
        when 'dead' then
            perform rota.fail_job(v_id, 1, 'error', retryable => false);
        else
            null;
    end case;
    return v_id;
end;
$$;

create function pg_temp.picture(p_id bigint)
returns text
language sql
as $$
    select jsonb_build_object(
        'job', (select jsonb_agg(j) from rota.jobs as j where j.id = p_id),
        'executions', (
            select jsonb_agg(e order by e.execution)
            from rota.executions as e
            where e.job_id = p_id
        )
    )::text
$$;

/* The SQLSTATE of the single verb, or the state it led to. */
create function pg_temp.try_one(p_verb text, p_id bigint, p_execution integer)
returns text
language plpgsql
as $$
begin
    case p_verb
        when 'complete' then perform rota.complete_job(p_id, p_execution);
        when 'fail' then perform rota.fail_job(p_id, p_execution, 'error');
        when 'release' then perform rota.release_job(p_id, p_execution);
        when 'snooze' then perform rota.snooze_job(p_id, p_execution, '1 minute');
        when 'cancel' then perform rota.cancel_job(p_id);
    end case;
    return (select j.state from rota.jobs as j where j.id = p_id);
exception
    when others then
        return sqlstate;
end;
$$;

/* How many jobs the plural verb answers for. */
create function pg_temp.try_many(p_verb text, p_id bigint, p_execution integer)
returns integer
language sql
as $$
    select case p_verb
        when 'complete' then
            (select count(*) from rota.complete_jobs(array[p_id], array[p_execution]))
        when 'fail' then
            (select count(*) from rota.fail_jobs(
                array[p_id], array[p_execution], array['error']))
        when 'release' then
            (select count(*) from rota.release_jobs(array[p_id], array[p_execution]))
        when 'snooze' then
            (select count(*) from rota.snooze_jobs(
                array[p_id], array[p_execution], array[interval '1 minute']))
        when 'cancel' then
            (select count(*) from rota.cancel_jobs(array[p_id]))
        when 'replay' then
            (select count(*) from rota.replay_dead(array[p_id]))
        when 'claim' then
            (select count(*)
             from rota.jobs as j, ref, rota.claim_jobs(ref.worker, array[j.queue]) as c
             where j.id = p_id)
    end::integer
$$;

/* An answer in capitals is an SQLSTATE: refused. One that ends in "=" was accepted
before: answered with the state of the job, which stays as it is. */
create temp table expected as
select
    s.state,
    s.execution,
    v.verb,
    t.token,
    s.execution + t.step as asked,
    (string_to_array(v.answers, ' '))[t.step + 2] as answer
from (
    values
    ('scheduled', 0), ('retrying', 1), ('queued', 0), ('returned', 1), ('running', 2),
    ('completed', 1), ('cancelled', 0), ('stopped', 1), ('dead', 1), ('unknown', 0)
) as s (state, execution)
inner join (
    values
    ('scheduled', 'complete', 'RT005 RT005 RT005'),
    ('scheduled', 'fail', 'RT005 RT005 RT005'),
    ('scheduled', 'release', 'RT005 RT005 RT005'),
    ('scheduled', 'snooze', 'RT005 RT005 RT005'),
    ('retrying', 'complete', 'RT001 RT001 RT005'),
    ('retrying', 'fail', 'RT001 scheduled= RT005'),
    ('retrying', 'release', 'RT001 RT001 RT005'),
    ('retrying', 'snooze', 'RT001 RT001 RT005'),
    ('queued', 'complete', 'RT005 RT005 RT005'),
    ('queued', 'fail', 'RT005 RT005 RT005'),
    ('queued', 'release', 'RT005 RT005 RT005'),
    ('queued', 'snooze', 'RT005 RT005 RT005'),
    ('returned', 'complete', 'RT001 RT001 RT005'),
    ('returned', 'fail', 'RT001 RT001 RT005'),
    ('returned', 'release', 'RT001 queued= RT005'),
    ('returned', 'snooze', 'RT001 RT001 RT005'),
    ('running', 'complete', 'RT001 completed RT005'),
    ('running', 'fail', 'RT001 scheduled RT005'),
    ('running', 'release', 'running= queued RT005'),
    ('running', 'snooze', 'RT001 scheduled RT005'),
    ('completed', 'complete', 'RT001 completed= RT005'),
    ('completed', 'fail', 'RT001 RT005 RT005'),
    ('completed', 'release', 'RT001 RT005 RT005'),
    ('completed', 'snooze', 'RT001 RT005 RT005'),
    ('cancelled', 'complete', 'RT005 RT005 RT005'),
    ('cancelled', 'fail', 'RT005 RT005 RT005'),
    ('cancelled', 'release', 'RT005 RT005 RT005'),
    ('cancelled', 'snooze', 'RT005 RT005 RT005'),
    ('stopped', 'complete', 'RT001 RT005 RT005'),
    ('stopped', 'fail', 'RT001 cancelled= RT005'),
    ('stopped', 'release', 'RT001 cancelled= RT005'),
    ('stopped', 'snooze', 'RT001 cancelled= RT005'),
    ('dead', 'complete', 'RT001 RT005 RT005'),
    ('dead', 'fail', 'RT001 dead= RT005'),
    ('dead', 'release', 'RT001 RT005 RT005'),
    ('dead', 'snooze', 'RT001 RT005 RT005'),
    ('unknown', 'complete', 'RT002 RT002 RT002'),
    ('unknown', 'fail', 'RT002 RT002 RT002'),
    ('unknown', 'release', 'RT002 RT002 RT002'),
    ('unknown', 'snooze', 'RT002 RT002 RT002'),
    ('scheduled', 'cancel', ' cancelled'),
    ('retrying', 'cancel', ' cancelled'),
    ('queued', 'cancel', ' cancelled'),
    ('returned', 'cancel', ' cancelled'),
    ('running', 'cancel', ' running'),
    ('completed', 'cancel', ' RT005'),
    ('cancelled', 'cancel', ' RT005'),
    ('stopped', 'cancel', ' RT005'),
    ('dead', 'cancel', ' RT005'),
    ('unknown', 'cancel', ' RT002'),
    ('scheduled', 'replay', ' NONE'),
    ('retrying', 'replay', ' NONE'),
    ('queued', 'replay', ' NONE'),
    ('returned', 'replay', ' NONE'),
    ('running', 'replay', ' NONE'),
    ('completed', 'replay', ' NONE'),
    ('cancelled', 'replay', ' NONE'),
    ('stopped', 'replay', ' NONE'),
    ('dead', 'replay', ' queued'),
    ('unknown', 'replay', ' NONE'),
    ('scheduled', 'claim', ' NONE'),
    ('retrying', 'claim', ' NONE'),
    ('queued', 'claim', ' running'),
    ('returned', 'claim', ' running'),
    ('running', 'claim', ' NONE'),
    ('completed', 'claim', ' NONE'),
    ('cancelled', 'claim', ' NONE'),
    ('stopped', 'claim', ' NONE'),
    ('dead', 'claim', ' NONE'),
    ('unknown', 'claim', ' NONE')
) as v (state, verb, answers) on v.state = s.state
inner join (
    values ('an old token', -1), ('its token', 0), ('a token from the future', 1)
) as t (token, step)
    on t.step = 0 or v.verb in ('complete', 'fail', 'release', 'snooze');

create temp table seen (
    state text,
    verb text,
    token text,
    is_plural boolean,
    answer text,
    given text,
    is_changed boolean
);

do $$
declare
    v_case record;
    v_id bigint;
    v_before text;
    v_given text;
begin
    for v_case in select * from expected loop
        if v_case.verb not in ('replay', 'claim') then
            v_id := pg_temp.job_that_is(v_case.state);
            v_before := pg_temp.picture(v_id);
            v_given := pg_temp.try_one(v_case.verb, v_id, v_case.asked);
            insert into seen values (
                v_case.state, v_case.verb, v_case.token, false,
                rtrim(v_case.answer, '='), v_given, v_before <> pg_temp.picture(v_id)
            );
        end if;

        v_id := pg_temp.job_that_is(v_case.state);
        v_before := pg_temp.picture(v_id);
        v_given := pg_temp.try_many(v_case.verb, v_id, v_case.asked);
        insert into seen values (
            v_case.state, v_case.verb, v_case.token, true,
            case when v_case.answer ~ '^[A-Z]' then '0 '
                else '1 ' || rtrim(v_case.answer, '=') end,
            v_given || ' ' || case when v_given = '0' then ''
                else (select j.state from rota.jobs as j where j.id = v_id) end,
            v_before <> pg_temp.picture(v_id)
        );
    end loop;
end;
$$;

select is(
    s.given, s.answer,
    format('%s of a job that is %s, with %s (%s)', s.verb, s.state, s.token,
        case when s.is_plural then 'many' else 'one' end)
)
from seen as s;

select is(
    s.is_changed, e.answer ~ '^[a-z]+$',
    format('%s of a job that is %s, with %s (%s) changes %s', s.verb, s.state, s.token,
        case when s.is_plural then 'many' else 'one' end,
        case when e.answer ~ '^[a-z]+$' then 'it' else 'nothing' end)
)
from seen as s
inner join expected as e using (state, verb, token);
select * from finish();
rollback;
