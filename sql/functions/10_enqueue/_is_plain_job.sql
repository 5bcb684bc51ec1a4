/* True for most jobs of a plain kind, at the price of an inlined expression; the rest
are looked at one by one in _check_job, which knows what to say. */
create or replace function rota._is_plain_job(
    p_payload jsonb,
    p_priority integer,
    p_run_at timestamptz,
    p_delay interval,
    p_key text,
    p_max_payload_bytes integer
)
returns boolean
language sql
immutable
parallel safe
as $$
    select
        p_payload is not null
        and pg_catalog.octet_length(p_payload::text) <= p_max_payload_bytes
        and p_priority is not null
        and p_priority between -32768 and 32767
        and p_run_at is null
        and p_delay is null
        and p_key is null
$$;
