create or replace function rota._cron_describe_days(
    p_cron rota.cron_expression
)
returns text
language plpgsql
immutable
parallel safe
as $$
declare
    v_count constant integer := bit_count(substring(p_cron.days from 2));
    v_days text;
    v_weekdays constant text := rota._cron_describe_weekdays(p_cron);
begin
    if v_count < 31 then
        v_days := concat_ws(
            ' and ',
            case when v_count > 0 then format(
                'day%s %s of the month',
                case when v_count > 1 then 's' else '' end,
                rota._cron_list(set_bit(p_cron.days, 0, 0))
            ) end,
            case when get_bit(p_cron.days, 0) = 1 then 'the last day of the month' end
        );
    end if;
    return case
        when v_days is null and v_weekdays is null then 'every day'
        when v_weekdays is null then 'on ' || v_days
        when v_days is null then 'on ' || v_weekdays
        when p_cron.needs_both_days
            then format('on %s if that is %s', v_days, v_weekdays)
        else format('on %s and also on %s', v_days, v_weekdays)
    end;
end;
$$;
