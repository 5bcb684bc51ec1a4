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
    v_queue constant rota.queue := rota._find_queue(queue);
    v_policy_id constant integer := rota._retry_policy_id(retry_policy);
    v_max_attempts constant integer := coalesce(max_attempts, v_queue.max_attempts);
    v_timeout constant interval := coalesce(timeout, v_queue.timeout);
    v_lane_id integer;
    v_now timestamptz;
begin
    perform rota._check_options(on_duplicate, key_ttl, max_attempts, timeout);
    perform rota._check_jobs(
        kinds, payloads, priorities, run_ats, delays, idempotency_keys,
        v_queue.max_payload_bytes
    );

    v_now := case when rota._enter_line() is not null then rota._now() end;
    v_lane_id := rota._lane_of(v_queue.id, priorities);
    if idempotency_keys is null then
        return query
        insert into rota.job (
            position, run_at, created_at, timeout, key_ttl, lane_id, max_attempts,
            retry_policy_id, state, kind, payload
        )
        select
            case when g.run_at <= v_now then nextval('rota.position_seq') end,
            g.run_at, g.created_at, g.timeout, g.key_ttl, g.lane_id, g.max_attempts,
            g.retry_policy_id, g.state, g.kind, g.payload
        from rota._given_jobs(
            v_queue.id, v_lane_id, v_now, kinds, payloads, priorities, run_ats, delays,
            null, enqueue_jobs.key_ttl, v_max_attempts, v_policy_id, v_timeout
        ) as g
        returning id, true;
    else
        return query
        select s.*
        from rota._enqueue_keyed_jobs(
            v_queue.id, v_lane_id, v_now, kinds, payloads, priorities, run_ats, delays,
            idempotency_keys, on_duplicate, key_ttl, v_max_attempts, v_policy_id,
            v_timeout
        ) as s;
    end if;

    if exists (
        select
        from (
            select
                unnest(payloads) as payload,
                unnest(run_ats) as run_at,
                unnest(delays) as delay
        ) as g
        where coalesce(g.run_at, v_now + g.delay, v_now)
            <= v_now + rota._longest_sleep()
    ) then
        perform rota._wake_queues(array[v_queue.id]);
    end if;
end;
$$;
