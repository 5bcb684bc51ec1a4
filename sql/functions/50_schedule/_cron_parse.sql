create or replace function rota._cron_parse(
    p_expression text
)
returns rota.cron_expression
language plpgsql
stable
parallel safe
as $$
declare
    v_fields constant text[] := rota._cron_split(p_expression);
    v_cron rota.cron_expression;
begin
    if cardinality(v_fields) = 1 then
        v_cron.every := rota._cron_every(v_fields[1]);
        return v_cron;
    end if;
    v_cron.minutes := rota._cron_field(v_fields[1], 1);
    v_cron.hours := rota._cron_field(v_fields[2], 2);
    v_cron.days := rota._cron_field(v_fields[3], 3);
    v_cron.months := rota._cron_field(v_fields[4], 4);
    v_cron.weekdays := rota._cron_field(v_fields[5], 5);
    /* crontab(5): a job runs when either day field matches if both are restricted, that
       is, do not start with a star. */
    v_cron.needs_both_days := v_fields[3] like '*%' or v_fields[5] like '*%';
    /* cron(8): the rules for clock changes spare jobs with a star in minute or hour. */
    v_cron.is_fixed := v_fields[1] not like '*%' and v_fields[2] not like '*%';
    /* From 2000 to 2027 each month occurs with each first weekday, February with both
       its lengths too: what matches no day there never will. */
    if rota._cron_match(v_cron, timestamp '2000-01-01', 27) is null then
        perform rota._cron_refuse(
            'day of month, month and day of week fields',
            'no date matches them in any year',
            'Months have 28 to 31 days. Where a day field starts with a star, a day '
            'must match both day fields.'
        );
    end if;
    return v_cron;
end;
$$;
