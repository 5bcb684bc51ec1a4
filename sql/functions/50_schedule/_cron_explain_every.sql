create or replace function rota._cron_explain_every(
    p_cron rota.cron_expression,
    p_zone text,
    p_since timestamptz,
    p_until timestamptz,
    p_anchor timestamptz
)
returns setof rota.explained_fire
language plpgsql
stable
parallel safe
as $$
declare
    v_at timestamptz := p_since;
begin
    for v_count in 1 .. 1000 loop
        v_at := rota._cron_next(p_cron, p_zone, v_at, 'run_after', 'first', p_anchor);
        exit when v_at > p_until;
        return query select
            v_at,
            rota._cron_clock(v_at, p_zone),
            to_char(v_at at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS'),
            false,
            null::text;
    end loop;
end;
$$;
