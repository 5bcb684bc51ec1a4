/* One by one in the order of the keys, since each may wait for another transaction:
two batches that share keys queue up instead of deadlocking. */
create or replace function rota._enqueue_keyed_jobs(
    p_queue rota.queue,
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
    v_job rota.job;
    v_number bigint;
    v_stored rota.enqueued_job[];
begin
    if p_on_duplicate = 'replace' then
        perform rota._lock_jobs(array(
            select ik.job_id
            from rota.idempotency_key as ik
            where ik.queue_id = p_queue.id and ik.key = any (p_keys)
        ));
    end if;

    for v_job in
        select g.*
        from rota._given_jobs(
            p_queue, false, p_kinds, p_payloads, p_priorities, p_run_ats, p_delays,
            p_keys, p_key_ttl, p_max_attempts, p_retry_policy_id, p_timeout
        ) as g
        order by g.idempotency_key, g.id
    loop
        v_number := v_job.id;
        if v_job.idempotency_key is null then
            v_job.id := nextval('rota.job_id_seq');
            insert into rota.job overriding system value
            select v_job.*;
            v_stored[v_number] := row(v_job.id, true)::rota.enqueued_job;
        else
            v_stored[v_number]
                := rota._enqueue_keyed(v_job, p_queue.id, p_on_duplicate);
        end if;
    end loop;

    return query
    select
        s.id,
        s.is_new
    from unnest(v_stored) as s;
end;
$$;
