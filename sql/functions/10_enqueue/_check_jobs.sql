/* Arrays of one length; then every row that is not plainly fine, by itself. */
create or replace function rota._check_jobs(
    p_kinds text[],
    p_payloads jsonb[],
    p_priorities integer[],
    p_run_ats timestamptz[],
    p_delays interval[],
    p_keys text[],
    p_max_payload_bytes integer
)
returns void
language plpgsql
stable
parallel safe
as $$
declare
    v_count constant integer := cardinality(p_payloads);
    v_row record;
begin
    if p_kinds is null or p_payloads is null then
        perform rota._raise_invalid('jobs', 'need arrays of kinds and payloads');
    elsif cardinality(p_kinds) <> v_count and (cardinality(p_kinds) <> 1 or v_count = 0)
        or cardinality(p_priorities) <> v_count
        or cardinality(p_run_ats) <> v_count
        or cardinality(p_delays) <> v_count
        or cardinality(p_keys) <> v_count
    then
        perform rota._raise_invalid('jobs', 'need arrays of one length');
    end if;

    for v_row in
        select g.*
        from unnest(p_kinds, p_payloads, p_priorities, p_run_ats, p_delays, p_keys)
            with ordinality
            as g (kind, payload, priority, run_at, delay, key, number)
        where not rota._is_plain_job(
            case when cardinality(p_kinds) = 1 then p_kinds[1] else g.kind end,
            g.payload,
            case when p_priorities is null then 0 else g.priority end,
            g.run_at, g.delay, g.key, p_max_payload_bytes
        ) and g.number <= v_count
    loop
        perform rota._check_job(
            format('jobs[%s].', v_row.number),
            case when cardinality(p_kinds) = 1 then p_kinds[1] else v_row.kind end,
            v_row.payload,
            case when p_priorities is null then 0 else v_row.priority end,
            v_row.run_at, v_row.delay, v_row.key, p_max_payload_bytes
        );
    end loop;
end;
$$;
