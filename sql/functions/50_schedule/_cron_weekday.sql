create or replace function rota._cron_weekday(
    p_item text
)
returns integer
language plpgsql
stable
parallel safe
as $$
/* Bit number of n#k or nL in the weekday bitmap; null when the item is neither. */
declare
    v_part constant text[] := regexp_match(p_item, '^([a-z0-9]+?)(?:#([0-9]+)|l)$');
    v_week integer;
begin
    if v_part is null or p_item = 'l' then
        return null;
    end if;
    if v_part[2] is null then
        v_week := 6;
    elsif v_part[2] ~ '^0*[1-5]$' then
        v_week := right(v_part[2], 1)::integer;
    else
        perform rota._cron_complain(p_item, 5);
    end if;
    return 7 * v_week + rota._cron_value(v_part[1], p_item, 5) % 7;
end;
$$;
