/* The one way for an execution to end without finishing its job. Tokens that hold
nothing are passed over, unless the same settlement was accepted before. */
create or replace function rota._end_executions(
    p_ids bigint[],
    p_executions integer[],
    p_outcomes text[],
    p_errors text[] default null,
    p_retryable boolean[] default null,
    p_delays interval[] default null
)
returns setof rota.settled_job
language plpgsql
volatile
parallel unsafe
as $$
declare
    v_now timestamptz;
    v_ended rota._ended_execution[];
    v_waiting rota._ended_execution[];
    v_dead rota._ended_execution[];
    v_cancelled bigint[];
begin
    perform rota._enter_line();
    v_now := rota._now();
    select
        coalesce(array_agg(e), '{}'),
        array_agg(e) filter (where e.verdict = 'waiting'),
        array_agg(e) filter (where e.verdict not in ('waiting', 'cancelled')),
        array_agg(e.id) filter (where e.verdict = 'cancelled')
    into v_ended, v_waiting, v_dead, v_cancelled
    from rota._judge_executions(
        p_ids, p_executions, p_outcomes, p_errors, p_retryable, p_delays, v_now
    ) as e;

    if cardinality(v_ended) > 0 then
        perform rota._note_attempts(v_ended, v_now);
    end if;
    if v_waiting is not null then
        return query
        select r.*
        from rota._return_jobs(v_waiting, v_now) as r;
        perform rota._wake_queues(array(
            select distinct e.queue_id
            from unnest(v_waiting) as e
            where e.run_at <= v_now + rota._longest_sleep()
        ));
    end if;
    if v_dead is not null then
        perform rota._bury_jobs(v_dead, v_now);
    end if;
    if v_cancelled is not null then
        perform rota._archive_cancelled(v_cancelled, null, v_now);
    end if;

    return query
    select
        e.id,
        case e.verdict when 'cancelled' then 'cancelled' else 'dead' end,
        null::timestamptz
    from unnest(v_ended) as e
    where e.verdict <> 'waiting';
    if cardinality(v_ended) < cardinality(p_ids) then
        return query
        select r.*
        from rota._ended_before(p_ids, p_executions, p_outcomes, v_ended) as r;
    end if;
end;
$$;
