create or replace function rota._cron_match(
    p_cron rota.cron_expression,
    p_from timestamp,
    p_years integer default 400
)
returns timestamp
language plpgsql
immutable
parallel safe
as $$
/* First wall-clock minute at or after p_from that matches the fields; null when none
does within p_years. No zone, no clock change: a calendar question, which repeats after
400 years. Each step jumps to the next set bit of one field and resets the smaller ones.
Position n of a bitmap read from 1 is value n - 1; past its end nothing is found. */
declare
    v_from constant timestamp := date_trunc(
        'minute', p_from + interval '59.999999 seconds'
    );
    v_year integer := extract(year from v_from);
    v_month integer := extract(month from v_from);
    v_day integer := extract(day from v_from);
    v_hour integer := extract(hour from v_from);
    v_minute integer := extract(minute from v_from);
    v_last_year constant integer := v_year + p_years;
    v_days bit(31);
    v_jump integer;
begin
    while v_year <= v_last_year loop
        v_jump := position(b'1' in substring(p_cron.months from v_month + 1)) - 1;
        if v_jump >= 0 then
            if v_jump > 0 then
                v_month := v_month + v_jump;
                v_day := 1; v_hour := 0; v_minute := 0;
            end if;
            v_days := rota._cron_days(p_cron, make_date(v_year, v_month, 1));
            loop
                v_jump := position(b'1' in substring(v_days from v_day)) - 1;
                exit when v_jump < 0;
                if v_jump > 0 then
                    v_day := v_day + v_jump;
                    v_hour := 0; v_minute := 0;
                end if;
                v_jump := position(b'1' in substring(p_cron.hours from v_hour + 1)) - 1;
                if v_jump < 0 then
                    v_day := v_day + 1;
                    v_hour := 0; v_minute := 0;
                    continue;
                elsif v_jump > 0 then
                    v_hour := v_hour + v_jump;
                    v_minute := 0;
                end if;
                v_jump := position(
                    b'1' in substring(p_cron.minutes from v_minute + 1)
                ) - 1;
                if v_jump >= 0 then
                    return make_timestamp(
                        v_year, v_month, v_day, v_hour, v_minute + v_jump, 0
                    );
                end if;
                v_hour := v_hour + 1;
                v_minute := 0;
            end loop;
            v_month := v_month + 1;
        else
            v_month := 13;
        end if;
        if v_month > 12 then
            v_year := v_year + 1;
            v_month := 1;
        end if;
        v_day := 1; v_hour := 0; v_minute := 0;
    end loop;
    return null;
end;
$$;
