create or replace function rota._cron_macro(
    p_text text
)
returns text
language plpgsql
stable
parallel safe
as $$
declare
    v_fields constant text := case p_text
        when '@hourly' then '0 * * * *'
        when '@daily' then '0 0 * * *'
        when '@midnight' then '0 0 * * *'
        when '@weekly' then '0 0 * * 0'
        when '@monthly' then '0 0 1 * *'
        when '@yearly' then '0 0 1 1 *'
        when '@annually' then '0 0 1 1 *'
    end;
begin
    if v_fields is null then
        perform rota._cron_refuse(
            format('macro, "%s"', left(p_text, 40)),
            'unknown',
            'The macros are @hourly, @daily, @midnight, @weekly, @monthly, @yearly, '
            '@annually, each on its own, and @every with a period.'
        );
    end if;
    return v_fields;
end;
$$;
