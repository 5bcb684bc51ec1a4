/* One job with whatever its options, checked. */
create or replace function rota._enqueue_any(
    p_kind text,
    p_payload jsonb,
    p_queue text,
    p_priority integer,
    p_run_at timestamptz,
    p_delay interval,
    p_key text,
    p_on_duplicate text,
    p_key_ttl interval,
    p_max_attempts integer,
    p_retry_policy text,
    p_timeout interval
)
returns bigint
language plpgsql
volatile
parallel unsafe
as $$
declare
    v_now timestamptz;
    v_queue constant rota.queue := rota._find_queue(p_queue);
    v_job rota.job;
    v_stored rota.enqueued_job;
begin
    perform rota._check_options(p_on_duplicate, p_key_ttl, p_max_attempts, p_timeout);
    perform rota._check_job(
        '', p_kind, p_payload, p_priority, p_run_at, p_delay, p_key,
        v_queue.max_payload_bytes
    );

    perform rota._enter_line();
    v_now := rota._now();
    v_job.lane_id := rota._lane_id(v_queue.id, p_priority);
    v_job.kind := p_kind;
    v_job.payload := p_payload;
    v_job.created_at := v_now;
    v_job.run_at := coalesce(p_run_at, v_now + p_delay, v_now);
    v_job.state := case when v_job.run_at <= v_now then 'queued' else 'scheduled' end;
    v_job.attempt := 0;
    v_job.execution := 0;
    v_job.lost_count := 0;
    v_job.max_attempts := coalesce(p_max_attempts, v_queue.max_attempts);
    v_job.retry_policy_id := rota._retry_policy_id(p_retry_policy);
    v_job.timeout := coalesce(p_timeout, v_queue.timeout);
    v_job.idempotency_key := p_key;
    v_job.key_ttl := p_key_ttl;
    if v_job.state = 'queued' then
        v_job.position := nextval('rota.position_seq');
    end if;

    if p_key is null then
        v_job.id := nextval('rota.job_id_seq');
        insert into rota.job overriding system value
        select v_job.*;
    else
        v_stored := rota._enqueue_keyed(v_job, v_queue.id, p_on_duplicate);
        v_job.id := v_stored.id;
        if p_on_duplicate = 'keep' and not v_stored.is_new then
            return v_job.id;
        end if;
    end if;

    if v_job.run_at <= v_now + rota._longest_sleep() then
        perform rota._wake_queues(array[v_queue.id]);
    end if;
    return v_job.id;
end;
$$;
