create or replace function rota._cron_every(
    p_text text
)
returns interval
language plpgsql
stable
parallel safe
as $$
/* The period after @every. Read here and not by the interval type, whose input depends
   on the session's IntervalStyle and knows months, which have no fixed length. */
declare
    v_body constant text := btrim(substring(p_text from 7), E' \t');
    v_clock constant text[] := regexp_match(
        v_body, '^([0-9]{1,6}):([0-5][0-9])(?::([0-5][0-9]))?$'
    );
    v_seconds bigint;
begin
    if v_clock is not null then
        v_seconds := v_clock[1]::bigint * 3600 + v_clock[2]::bigint * 60
            + coalesce(v_clock[3]::bigint, 0);
    elsif v_body ~ ('^([0-9]{1,9}[ \t]*(w|weeks?|d|days?|h|hours?|m|mins?|minutes?'
        '|s|secs?|seconds?)[ \t]*)+$')
    then
        select sum(
            m.part[1]::bigint
            * case m.part[2]
                when 'w' then 604800 when 'd' then 86400 when 'h' then 3600
                when 'm' then 60 else 1
            end
        )
        into v_seconds
        from regexp_matches(v_body, '([0-9]+)[ \t]*([a-z])', 'g') as m (part);
    end if;
    if v_seconds is null or v_seconds not between 1 and 3155760000 then
        perform rota._cron_refuse(
            format('@every, "%s"', left(v_body, 40)),
            'not a period between 1 second and 100 years in whole weeks, days, '
            'hours, minutes and seconds',
            'Write for instance @every 90s, @every 1h30m or @every 00:05:00. Months '
            'and years differ in length: use the five fields for those.'
        );
    end if;
    return make_interval(secs => v_seconds);
end;
$$;
