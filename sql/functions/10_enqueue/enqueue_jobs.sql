create or replace function rota.enqueue_jobs(
    kinds text[],
    payloads jsonb[],
    queue text default 'default',
    priorities integer[] default null,
    run_ats timestamptz[] default null,
    delays interval[] default null,
    idempotency_keys text[] default null,
    on_duplicate text default 'keep',
    key_ttl interval default null,
    max_attempts integer default null,
    retry_policy text default null,
    timeout interval default null
)
returns setof rota.enqueued_job
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
    v_now constant timestamptz := rota._now();
    v_queue constant rota.queue := rota._find_queue(queue);
    v_policy_id constant integer := rota._retry_policy_id(retry_policy);
begin
    perform rota._check_options(on_duplicate, key_ttl, max_attempts, timeout);
    perform rota._check_jobs(
        kinds, payloads, priorities, run_ats, delays, idempotency_keys,
        v_queue.max_payload_bytes
    );

    if idempotency_keys is null then
        return query
        insert into rota.job overriding system value
        select g.*
        from rota._given_jobs(
            v_queue, true, kinds, payloads, priorities, run_ats, delays, null,
            key_ttl, max_attempts, v_policy_id, timeout
        ) as g
        returning id, true;
    else
        return query
        select s.*
        from rota._enqueue_keyed_jobs(
            v_queue, kinds, payloads, priorities, run_ats, delays, idempotency_keys,
            on_duplicate, key_ttl, max_attempts, v_policy_id, timeout
        ) as s;
    end if;

    if exists (
        select
        from unnest(payloads, run_ats, delays) as g (payload, run_at, delay)
        where coalesce(g.run_at, v_now + g.delay, v_now)
            <= v_now + rota._longest_sleep()
    ) then
        perform rota._wake(v_queue);
    end if;
end;
$$;
