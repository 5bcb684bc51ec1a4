create or replace function rota.cron_describe(
    expression text
)
returns text
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_cron constant rota.cron_expression := rota._cron_parse(cron_describe.expression);
    v_months constant text := rota._cron_list(
        v_cron.months,
        '{-,January,February,March,April,May,June,July,August,September,October,'
        'November,December}'
    );
    v_text text;
begin
    if v_cron.every is not null then
        return format(
            'Every %s, counted from when the schedule was made.',
            rota._cron_period(v_cron.every)
        );
    end if;
    v_text := rota._cron_describe_time(v_cron);
    /* "Every 5 minutes" says enough about the days when there is nothing to say. */
    if v_text not like 'every%' or rota._cron_describe_days(v_cron) <> 'every day' then
        v_text := concat_ws(' ', v_text, rota._cron_describe_days(v_cron));
    end if;
    if bit_count(v_cron.months) < 12 then
        v_text := concat_ws(' ', v_text, 'in', v_months);
    end if;
    return upper(left(v_text, 1)) || substring(v_text from 2) || '.';
end;
$$;
