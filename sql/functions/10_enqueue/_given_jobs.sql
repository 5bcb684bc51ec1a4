/* The rows of a batch in their order, checked. Numbers in id unless p_takes_ids: keyed
rows learn later whether they need an id at all. */
create or replace function rota._given_jobs(
    p_queue rota.queue,
    p_takes_ids boolean,
    p_kinds text[],
    p_payloads jsonb[],
    p_priorities integer[],
    p_run_ats timestamptz[],
    p_delays interval[],
    p_keys text[],
    p_key_ttl interval,
    p_max_attempts integer,
    p_retry_policy_id integer,
    p_timeout interval
)
returns setof rota.job
language plpgsql
volatile
parallel unsafe
as $$
declare
    v_now timestamptz;
    v_lane_id integer;
begin
    perform rota._enter_line();
    v_now := rota._now();
    if p_priorities is null then
        v_lane_id := rota._lane_id(p_queue.id, 0);
    else
        perform rota._lane_id(p_queue.id, p.priority)
        from (
            select distinct u.priority
            from unnest(p_priorities) as u (priority)
        ) as p;
    end if;

    /* Positions are drawn in the order of the arrays: unnest keeps it, and nothing here
    would be better done in another. */
    return query
    select
        case when p_takes_ids then nextval('rota.job_id_seq') else g.number end,
        case when g.run_at <= v_now then nextval('rota.position_seq') end,
        null::bigint,
        g.run_at,
        v_now,
        null::timestamptz,
        null::timestamptz,
        null::timestamptz,
        coalesce(p_timeout, p_queue.timeout),
        p_key_ttl,
        coalesce(v_lane_id, (
            select l.id
            from rota.lane as l
            where l.queue_id = p_queue.id and l.priority = g.priority
        )),
        0,
        coalesce(p_max_attempts, p_queue.max_attempts),
        0,
        0,
        p_retry_policy_id,
        case when g.run_at <= v_now then 'queued' else 'scheduled' end,
        coalesce(g.kind, p_kinds[1]),
        g.key,
        null::text,
        g.payload
    from (
        select
            u.*,
            coalesce(u.given_run_at, v_now + u.delay, v_now) as run_at
        from unnest(p_kinds, p_payloads, p_priorities, p_run_ats, p_delays, p_keys)
            with ordinality
            as u (kind, payload, priority, given_run_at, delay, key, number)
        where u.number <= cardinality(p_payloads)
    ) as g;
end;
$$;
