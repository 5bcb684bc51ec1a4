/* Anew when a job to be replaced was made meanwhile: to wait for it, with keys and jobs
in hand, could deadlock. The subtransaction gives all of them back. */
create or replace function rota._enqueue_keyed_jobs(
    p_queue_id integer,
    p_lane_id integer,
    p_now timestamptz,
    p_kinds text[],
    p_payloads jsonb[],
    p_priorities integer[],
    p_run_ats timestamptz[],
    p_delays interval[],
    p_keys text[],
    p_on_duplicate text,
    p_key_ttl interval,
    p_max_attempts integer,
    p_retry_policy_id integer,
    p_timeout interval
)
returns setof rota.enqueued_job
language plpgsql
volatile
parallel unsafe
as $$
begin
    if p_on_duplicate <> 'replace' then
        return query
        select s.*
        from rota._store_keyed_jobs(
            p_queue_id, p_lane_id, p_now, p_kinds, p_payloads, p_priorities, p_run_ats,
            p_delays, p_keys, p_on_duplicate, p_key_ttl, p_max_attempts,
            p_retry_policy_id, p_timeout
        ) as s;
        return;
    end if;

    loop
        begin
            return query
            select s.*
            from rota._store_keyed_jobs(
                p_queue_id, p_lane_id, p_now, p_kinds, p_payloads, p_priorities,
                p_run_ats, p_delays, p_keys, p_on_duplicate, p_key_ttl, p_max_attempts,
                p_retry_policy_id, p_timeout
            ) as s;
            return;
        exception
            when sqlstate 'RTX01' then
                null;
        end;
    end loop;
end;
$$;
