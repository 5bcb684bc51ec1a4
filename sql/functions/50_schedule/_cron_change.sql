create or replace function rota._cron_change(
    p_zone text,
    p_low timestamptz,
    p_high timestamptz
)
returns timestamptz
language plpgsql
stable
parallel safe
as $$
/* The first instant after the one clock change between p_low and p_high. PostgreSQL
shows no list of changes, so halve the span until one second is left: changes happen on
whole seconds. */
declare
    v_low bigint := floor(extract(epoch from p_low));
    v_high bigint := ceil(extract(epoch from p_high));
    v_middle bigint;
    v_offset constant interval := rota._cron_offset(p_zone, p_low);
begin
    while v_high - v_low > 1 loop
        v_middle := (v_low + v_high) / 2;
        if rota._cron_offset(p_zone, to_timestamp(v_middle)) = v_offset then
            v_low := v_middle;
        else
            v_high := v_middle;
        end if;
    end loop;
    return to_timestamp(v_high);
end;
$$;
