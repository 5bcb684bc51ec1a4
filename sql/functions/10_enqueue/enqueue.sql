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
/* A plain job, which most are, takes one statement, and a few expressions that PL/pgSQL
evaluates without one. Each call of another function, row variable or perform would cost
as much as several of these; so would a nextval within the statement, which makes it a
subquery. Whatever else is asked for, or wrong, or still lacks its lane, is not found
here, and left to _enqueue_any. */
declare
    v_now constant timestamptz
        := case when rota._enter_line() is not null then rota._now() end;
    v_position bigint;
    v_id bigint;
begin
    if on_duplicate = 'keep'
        and num_nonnulls(
            run_at, delay, idempotency_key, key_ttl, max_attempts, retry_policy, timeout
        ) = 0
        and rota._is_plain_kind(kind)
    then
        v_position := nextval('rota.position_seq');
        insert into rota.job (
            position, run_at, created_at, timeout, lane_id, max_attempts, state, kind,
            payload
        )
        select
            v_position,
            v_now,
            v_now,
            q.timeout,
            l.id,
            q.max_attempts,
            'queued',
            enqueue.kind,
            enqueue.payload
        from rota.queue as q
        inner join rota.lane as l on l.queue_id = q.id and l.priority = enqueue.priority
        where q.name = enqueue.queue
            and octet_length(enqueue.payload::text) <= q.max_payload_bytes
        returning id into v_id;
    end if;

    if v_id is not null and not rota._is_marked(0) then
        return v_id;
    elsif v_id is null then
        return rota._enqueue_any(
            kind, payload, queue, priority, run_at, delay, idempotency_key,
            on_duplicate, key_ttl, max_attempts, retry_policy, timeout
        );
    end if;
    perform rota._wake_queues(array(
        select q.id
        from rota.queue as q
        where q.name = enqueue.queue
    ));
    return v_id;
end;
$$;
