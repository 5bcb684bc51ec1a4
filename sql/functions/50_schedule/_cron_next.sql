create or replace function rota._cron_next(
    p_cron rota.cron_expression,
    p_zone text,
    p_after timestamptz,
    p_gap text,
    p_repeat text,
    p_anchor timestamptz
)
returns timestamptz
language plpgsql
stable
parallel safe
as $$
/* First fire strictly after p_after; null when there is none within 400 years.
   Walk the wall-clock matches after the time shown at p_after; the first with a fire after
   p_after has the answer, with one exception: when p_after lies in the first pass of a
   repeated hour, the earlier times of that hour come again before it. */
declare
    v_local timestamp := p_after at time zone p_zone;
    v_limit constant timestamp := v_local + interval '400 years';
    v_passes timestamptz[];
    v_again timestamptz;
    v_next timestamptz;
begin
    if p_cron.every is not null then
        return p_anchor + p_cron.every * greatest(1, 1 + floor(
            extract(epoch from p_after - p_anchor) / extract(epoch from p_cron.every)
        ))::double precision;
    end if;

    v_passes := rota._cron_instants(p_zone, v_local);
    if v_passes[2] is not null and v_passes[1] = p_after then
        v_again := rota._cron_first_after(
            rota._cron_fires(
                p_cron, p_zone,
                rota._cron_match(
                    p_cron,
                    rota._cron_change(p_zone, v_passes[1], v_passes[2]) at time zone p_zone
                ),
                p_gap, p_repeat
            ),
            p_after
        );
    end if;

    v_local := v_local + interval '1 microsecond';
    loop
        v_local := rota._cron_match(p_cron, v_local);
        exit when v_local is null or v_local > v_limit;
        v_next := rota._cron_first_after(
            rota._cron_fires(p_cron, p_zone, v_local, p_gap, p_repeat), p_after
        );
        exit when v_next is not null;
        v_local := v_local + interval '1 minute';
    end loop;
    return least(v_next, v_again);
end;
$$;
