create or replace function rota._cron_start(
    p_zone text,
    p_after timestamptz
)
returns timestamp
language plpgsql
stable
parallel safe
as $$
/* The earliest time the clocks show after p_after: just later than the one they show at
that instant, or, in the first pass of a repeated hour, where that hour starts again. */
declare
    v_local constant timestamp := p_after at time zone p_zone;
    v_passes constant timestamptz[] := rota._cron_instants(p_zone, v_local);
begin
    if v_passes[2] is not null and v_passes[1] = p_after then
        return rota._cron_change(p_zone, v_passes[1], v_passes[2]) at time zone p_zone;
    end if;
    return v_local + interval '1 microsecond';
end;
$$;
