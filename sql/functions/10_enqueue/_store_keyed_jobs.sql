/* One by one in the order of the keys, since each may wait for another transaction:
two batches that share keys queue up instead of deadlocking. Jobs to be replaced are
locked before that, in their own order. Positions are drawn in the order given. */
create or replace function rota._store_keyed_jobs(
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
declare
    v_row record;
    v_job rota.job;
    v_number integer;
    v_stored rota.enqueued_job[];
    v_locked bigint[];
begin
    if p_on_duplicate = 'replace' then
        v_locked := array(
            select ik.job_id
            from rota.idempotency_key as ik
            where ik.queue_id = p_queue_id and ik.key = any (p_keys)
        );
        perform rota._lock_jobs(v_locked);
    end if;

    for v_row in
        with given as materialized (
            select
                g as job,
                case g.state when 'queued' then nextval('rota.position_seq') end
                    as position
            from rota._given_jobs(
                p_queue_id, p_lane_id, p_now, p_kinds, p_payloads, p_priorities,
                p_run_ats, p_delays, p_keys, p_key_ttl, p_max_attempts,
                p_retry_policy_id, p_timeout
            ) as g
        )

        select
            g.job,
            g.position
        from given as g
        order by (g.job).idempotency_key, (g.job).id
    loop
        v_job := v_row.job;
        v_job.position := v_row.position;
        if v_job.idempotency_key is null then
            v_job.id := nextval('rota.job_id_seq');
            insert into rota.job overriding system value
            select v_job.*;
            v_stored[(v_row.job).id] := row(v_job.id, true)::rota.enqueued_job;
        else
            v_number := (v_row.job).id;
            v_stored[v_number]
                := rota._enqueue_keyed(v_job, p_queue_id, p_on_duplicate, v_locked);
            v_locked := v_locked || v_stored[v_number].id;
        end if;
    end loop;

    return query
    select
        s.id,
        s.is_new
    from unnest(v_stored) as s;
end;
$$;
