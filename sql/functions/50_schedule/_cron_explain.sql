create or replace function rota._cron_explain(
    p_cron rota.cron_expression,
    p_zone text,
    p_since timestamptz,
    p_until timestamptz,
    p_gap text,
    p_repeat text
)
returns setof rota.explained_fire
language plpgsql
stable
parallel safe
as $$
/* In the order of the wall clock, not of time; ends after 1000 lines. In the second
pass of a repeated hour the clocks have already shown later times than at p_until. */
declare
    v_local timestamp := rota._cron_start(p_zone, p_since);
    v_last timestamp := p_until at time zone p_zone;
    v_passes constant timestamptz[] := rota._cron_instants(p_zone, v_last);
    v_line rota.explained_fire;
    v_count integer := 0;
begin
    if v_passes[2] = p_until then
        v_last := v_last + (v_passes[2] - v_passes[1]);
    end if;
    loop
        v_local := rota._cron_match(p_cron, v_local);
        exit when v_local is null or v_local > v_last or v_count >= 1000;
        for v_line in
            select n.*
            from rota._cron_notes(p_cron, p_zone, v_local, p_gap, p_repeat) as n
            where n.due_at > p_since and n.due_at <= p_until
        loop
            v_count := v_count + 1;
            return next v_line;
        end loop;
        v_local := v_local + interval '1 minute';
    end loop;
end;
$$;
