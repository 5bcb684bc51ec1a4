/* Arrays of one length; then every row that is not plainly fine, by itself. Here and in
_given_jobs the arrays are unnested side by side in a select list, which hands on row by
row: in a from clause each of them is written to a store of its own first. */
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
    v_is_one_kind constant boolean := coalesce(cardinality(p_kinds) = 1, false);
    v_is_plain_kind constant boolean := v_is_one_kind
        and rota._is_plain_kind(p_kinds[1]);
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
        from (
            select
                generate_series(1, v_count) as number,
                unnest(p_kinds) as kind,
                unnest(p_payloads) as payload,
                unnest(p_priorities) as priority,
                unnest(p_run_ats) as run_at,
                unnest(p_delays) as delay,
                unnest(p_keys) as key
        ) as g
        where not (
            (v_is_plain_kind or not v_is_one_kind and rota._is_plain_kind(g.kind))
            and rota._is_plain_job(
                g.payload,
                case when p_priorities is null then 0 else g.priority end,
                g.run_at, g.delay, g.key, p_max_payload_bytes
            )
        )
    loop
        perform rota._check_job(
            format('jobs[%s].', v_row.number),
            case when v_is_one_kind then p_kinds[1] else v_row.kind end,
            v_row.payload,
            case when p_priorities is null then 0 else v_row.priority end,
            v_row.run_at, v_row.delay, v_row.key, p_max_payload_bytes
        );
    end loop;
end;
$$;
