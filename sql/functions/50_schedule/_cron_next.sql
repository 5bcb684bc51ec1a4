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
    v_local timestamp := (p_after at time zone p_zone) + interval '1 microsecond';
    v_limit constant timestamp := v_local + interval '400 years';
    v_start timestamp;
    v_again timestamptz;
    v_next timestamptz;
begin
    if p_cron.every is not null then
        return p_anchor + p_cron.every * greatest(1, 1 + floor(
            extract(epoch from p_after - p_anchor) / extract(epoch from p_cron.every)
        ))::double precision;
    end if;

    v_start := rota._cron_start(p_zone, p_after);
    if v_start < v_local then
        v_again := rota._cron_first_after(
            rota._cron_fires(
                p_cron, p_zone, rota._cron_match(p_cron, v_start), p_gap, p_repeat
            ),
            p_after
        );
    end if;

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
