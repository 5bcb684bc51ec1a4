create or replace function rota._cron_describe_time(
    p_cron rota.cron_expression
)
returns text
language plpgsql
stable
parallel safe
as $$
declare
    v_minutes constant integer := bit_count(p_cron.minutes);
    v_hours constant integer := bit_count(p_cron.hours);
    v_step constant integer := 60 / v_minutes;
    v_text text;
begin
    if v_minutes * v_hours <= 4 then
        select 'at ' || rota._cron_and(
            array_agg(to_char(make_time(h.hour, m.minute, 0), 'HH24:MI')
                order by h.hour, m.minute)
        )
        into v_text
        from generate_series(0, 23) as h (hour)
        cross join generate_series(0, 59) as m (minute)
        where get_bit(p_cron.hours, h.hour) = 1
            and get_bit(p_cron.minutes, m.minute) = 1;
        return v_text;
    end if;

    if v_minutes = 60 then
        v_text := 'every minute';
    elsif v_minutes > 1 and v_minutes * v_step = 60
        and p_cron.minutes = rota._cron_field('*/' || v_step, 1)
    then
        v_text := format('every %s minutes', v_step);
    else
        v_text := format(
            'at minute%s %s',
            case when v_minutes > 1 then 's' else '' end,
            rota._cron_list(p_cron.minutes)
        );
    end if;
    return v_text || case
        when v_hours < 24 then format(
            ' of hour%s %s',
            case when v_hours > 1 then 's' else '' end,
            rota._cron_list(p_cron.hours)
        )
        when v_text like 'at%' then ' of every hour'
        else ''
    end;
end;
$$;
