create or replace function rota.enqueue(
    kind text,
    payload jsonb default '{}',
    queue text default 'default',
    priority integer default 0,
    run_at timestamptz default null,
    delay interval default null,
    idempotency_key text default null,
    on_duplicate text default 'keep',
    key_ttl interval default null,
    max_attempts integer default null,
    retry_policy text default null,
    timeout interval default null
)
returns bigint
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
    v_now timestamptz;
    v_queue constant rota.queue := rota._find_queue(queue);
    v_job rota.job;
    v_stored rota.enqueued_job;
begin
    if on_duplicate is distinct from 'keep'
        or num_nonnulls(key_ttl, max_attempts, timeout) > 0
    then
        perform rota._check_options(on_duplicate, key_ttl, max_attempts, timeout);
    end if;
    if not rota._is_plain_job(
        kind, payload, priority, run_at, delay, idempotency_key,
        v_queue.max_payload_bytes
    ) then
        perform rota._check_job(
            '', kind, payload, priority, run_at, delay, idempotency_key,
            v_queue.max_payload_bytes
        );
    end if;

    perform rota._enter_line();
    v_now := rota._now();
    v_job.lane_id := rota._lane_id(v_queue.id, priority);
    v_job.kind := kind;
    v_job.payload := payload;
    v_job.created_at := v_now;
    v_job.run_at := coalesce(run_at, v_now + delay, v_now);
    v_job.state := case when v_job.run_at <= v_now then 'queued' else 'scheduled' end;
    v_job.attempt := 0;
    v_job.execution := 0;
    v_job.lost_count := 0;
    v_job.max_attempts := coalesce(max_attempts, v_queue.max_attempts);
    v_job.retry_policy_id := rota._retry_policy_id(retry_policy);
    v_job.timeout := coalesce(timeout, v_queue.timeout);
    v_job.idempotency_key := idempotency_key;
    v_job.key_ttl := key_ttl;
    if v_job.state = 'queued' then
        v_job.position := nextval('rota.position_seq');
    end if;

    if idempotency_key is null then
        v_job.id := nextval('rota.job_id_seq');
        insert into rota.job overriding system value
        select v_job.*;
    else
        v_stored := rota._enqueue_keyed(v_job, v_queue.id, on_duplicate);
        v_job.id := v_stored.id;
        if on_duplicate = 'keep' and not v_stored.is_new then
            return v_job.id;
        end if;
    end if;

    if v_job.run_at <= v_now + rota._longest_sleep() then
        perform rota._wake(v_queue);
    end if;
    return v_job.id;
end;
$$;
