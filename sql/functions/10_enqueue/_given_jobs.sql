/* The rows of a checked batch in their order, numbered in id and still without a
position: this is inlined, so that a batch is read from the arrays into the table
without a stop, and draws no numbers itself. p_lane_id is null for several lanes. */
create or replace function rota._given_jobs(
    p_queue_id integer,
    p_lane_id integer,
    p_now timestamptz,
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
language sql
stable
parallel safe
as $$
    select
        g.number,
        null::bigint,
        null::bigint,
        g.run_at,
        p_now,
        null::timestamptz,
        null::timestamptz,
        null::timestamptz,
        p_timeout,
        p_key_ttl,
        coalesce(p_lane_id, (
            select l.id
            from rota.lane as l
            where l.queue_id = p_queue_id and l.priority = g.priority
        )),
        0,
        p_max_attempts,
        0,
        0,
        p_retry_policy_id,
        case when g.run_at <= p_now then 'queued' else 'scheduled' end,
        coalesce(g.kind, p_kinds[1]),
        g.key,
        null::text,
        g.payload
    from (
        select
            u.number,
            u.kind,
            u.payload,
            u.priority,
            u.key,
            coalesce(u.given_run_at, p_now + u.delay, p_now) as run_at
        from (
            select
                pg_catalog.generate_series(
                    1::bigint, pg_catalog.cardinality(p_payloads)
                ) as number,
                pg_catalog.unnest(p_kinds) as kind,
                pg_catalog.unnest(p_payloads) as payload,
                pg_catalog.unnest(p_priorities) as priority,
                pg_catalog.unnest(p_run_ats) as given_run_at,
                pg_catalog.unnest(p_delays) as delay,
                pg_catalog.unnest(p_keys) as key
        ) as u
    ) as g
$$;
