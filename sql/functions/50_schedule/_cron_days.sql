create or replace function rota._cron_days(
    p_cron rota.cron_expression,
    p_month date
)
returns bit
language plpgsql
immutable
parallel safe
as $$
/* Bitmap of the matching days of one month, given by its first day; the leftmost bit is
   day 1. */
declare
    v_length constant integer := (p_month + interval '1 month')::date - p_month;
    v_weekday constant integer := extract(dow from p_month);
    v_week constant bit(7) := substring(p_cron.weekdays from 1 for 7);
    v_days bit(31) := substring(p_cron.days from 2);
    v_weekdays bit(31) := substring(
        v_week || v_week || v_week || v_week || v_week || v_week
        from v_weekday + 1 for 31
    );
    v_bit integer;
begin
    if get_bit(p_cron.days, 0) = 1 then
        v_days := set_bit(v_days, v_length - 1, 1);
    end if;
    v_bit := position(b'1' in substring(p_cron.weekdays from 8));
    if v_bit > 0 then
        for v_day in 0 .. v_length - 1 loop
            v_bit := (v_weekday + v_day) % 7;
            if get_bit(p_cron.weekdays, 7 * (v_day / 7 + 1) + v_bit) = 1
                or (v_day >= v_length - 7 and get_bit(p_cron.weekdays, 42 + v_bit) = 1)
            then
                v_weekdays := set_bit(v_weekdays, v_day, 1);
            end if;
        end loop;
    end if;
    if p_cron.needs_both_days then
        v_days := v_days & v_weekdays;
    else
        v_days := v_days | v_weekdays;
    end if;
    return v_days & (b'1111111111111111111111111111111' << (31 - v_length));
end;
$$;
