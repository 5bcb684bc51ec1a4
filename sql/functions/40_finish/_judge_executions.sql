/* Lock the jobs that these tokens still hold and decide what becomes of each:
waiting, cancelled, or dead for the reason named.

Tokens and jobs are merged in the order of ids: a nested loop, planned for a few of
them, would go through all for each. Lane and queue are looked up by themselves, or the
merge would read all of those. */
create or replace function rota._judge_executions(
    p_ids bigint[],
    p_executions integer[],
    p_outcomes text[],
    p_errors text[],
    p_retryable boolean[],
    p_delays interval[],
    p_now timestamptz
)
returns setof rota._ended_execution
language plpgsql
volatile
parallel unsafe
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = on
set enable_nestloop = off
set jit = off
set plan_cache_mode = force_generic_plan
as $$
begin
    return query
    with held as materialized (
        select
            j.*,
            g.*,
            (
                select l.queue_id
                from rota.lane as l
                where l.id = abs(j.lane_id)
            ) as queue_id,
            g.outcome in ('failed', 'timed_out') as is_charged
        from (
            select distinct on (u.token_id, u.token) u.*
            from unnest(
                p_ids, p_executions, p_outcomes, p_errors, p_retryable, p_delays
            )
                as u (token_id, token, outcome, error, is_retryable, delay)
            order by u.token_id, u.token
        ) as g
        inner join rota.job as j on j.id = g.token_id
        where j.id = any (p_ids)
            and j.execution = g.token
            and j.claimed_at is not null
        for update of j
    )

    select
        h.id,
        h.queue_id,
        case
            when h.is_charged and h.cancel_requested_at is not null then 'cancelled'
            else h.outcome
        end,
        case
            when h.cancel_requested_at is not null then 'cancelled'
            when h.is_charged and not coalesce(h.is_retryable, true)
                then 'not_retryable'
            when h.is_charged and h.attempt >= h.max_attempts then 'attempts_exhausted'
            when h.outcome = 'lost'
                and h.lost_count + 1 >= (
                    select q.max_lost
                    from rota.queue as q
                    where q.id = h.queue_id
                )
                then 'worker_lost'
            else 'waiting'
        end,
        not h.is_charged,
        case
            when h.is_charged
                then p_now + coalesce(
                    h.delay,
                    rota._retry_delay(
                        coalesce(
                            h.retry_policy_id,
                            (
                                select q.retry_policy_id
                                from rota.queue as q
                                where q.id = h.queue_id
                            )
                        ),
                        h.attempt
                    )
                )
            when h.outcome = 'snoozed' then p_now + h.delay
            else h.run_at
        end,
        left(h.error, 20000)
    from held as h;
end;
$$;
