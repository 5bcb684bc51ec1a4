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
/* The hot path is two statements, on scalars, and a few expressions simple enough for
PL/pgSQL to evaluate without a statement: a perform, a call of a PL/pgSQL function or a
row variable costs as much as many of them. */
declare
    v_queue_id integer;
    v_lane_id integer;
    v_max_payload_bytes integer;
    v_max_attempts integer;
    v_timeout interval;
    v_is_notifying boolean;
    v_policy_id integer;
    v_now timestamptz;
    v_run_at timestamptz;
    v_state text := 'queued';
    v_stored rota.enqueued_job;
begin
    select
        q.id,
        l.id,
        q.max_payload_bytes,
        coalesce(enqueue.max_attempts, q.max_attempts),
        coalesce(enqueue.timeout, q.timeout),
        q.is_notifying and q.paused_at is null
    into
        v_queue_id, v_lane_id, v_max_payload_bytes, v_max_attempts, v_timeout,
        v_is_notifying
    from rota.queue as q
    left join rota.lane as l on l.queue_id = q.id and l.priority = enqueue.priority
    where q.name = enqueue.queue;
    if v_queue_id is null then
        perform rota._raise_no_queue(queue);
    elsif on_duplicate is distinct from 'keep'
        or num_nonnulls(key_ttl, max_attempts, timeout) > 0
    then
        perform rota._check_options(on_duplicate, key_ttl, max_attempts, timeout);
    end if;
    if not (
        rota._is_plain_kind(kind)
        and rota._is_plain_job(
            payload, priority, run_at, delay, idempotency_key, v_max_payload_bytes
        )
    ) then
        perform rota._check_job(
            '', kind, payload, priority, run_at, delay, idempotency_key,
            v_max_payload_bytes
        );
    end if;

    v_now := case when rota._enter_line() then rota._now() end;
    v_run_at := coalesce(run_at, v_now + delay, v_now);
    if v_run_at > v_now then
        v_state := 'scheduled';
    end if;
    if v_lane_id is null then
        v_lane_id := rota._lane_id(v_queue_id, priority);
    end if;
    if retry_policy is not null then
        v_policy_id := rota._retry_policy_id(retry_policy);
    end if;

    if idempotency_key is null then
        insert into rota.job (
            position, run_at, created_at, timeout, key_ttl, lane_id, max_attempts,
            retry_policy_id, state, kind, payload
        )
        values (
            case v_state when 'queued' then nextval('rota.position_seq') end,
            v_run_at, v_now, v_timeout, enqueue.key_ttl, v_lane_id, v_max_attempts,
            v_policy_id, v_state, enqueue.kind, enqueue.payload
        )
        returning id into v_stored.id;
    else
        v_stored := rota._enqueue_keyed(
            row(
                null,
                case v_state when 'queued' then nextval('rota.position_seq') end,
                null, v_run_at, v_now, null, null, null, v_timeout, key_ttl, v_lane_id,
                0, v_max_attempts, 0, 0, v_policy_id, v_state, kind, idempotency_key,
                null, payload
            )::rota.job,
            v_queue_id,
            on_duplicate
        );
        if on_duplicate = 'keep' and not v_stored.is_new then
            return v_stored.id;
        end if;
    end if;

    if v_is_notifying
        and v_run_at <= v_now + rota._longest_sleep()
        and rota._is_awaited(v_queue_id)
    then
        perform pg_notify('rota', queue);
    end if;
    return v_stored.id;
end;
$$;
