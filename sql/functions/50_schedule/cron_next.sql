create or replace function rota.cron_next(
    expression text,
    timezone text default 'UTC',
    after timestamptz default null,
    n integer default 1,
    gap text default 'run_after',
    repeat text default 'first'
)
returns setof timestamptz
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_cron constant rota.cron_expression := rota._cron_parse(cron_next.expression);
    v_zone constant text := rota._cron_zone(cron_next.timezone);
    v_start constant timestamptz := coalesce(cron_next.after, rota._now());
    v_at timestamptz := v_start;
begin
    perform rota._cron_check_policy(cron_next.gap, cron_next.repeat);
    perform rota._cron_check_instant('after', v_start);
    if cron_next.n is null or cron_next.n not between 1 and 10000 then
        raise exception using
            errcode = '22023',
            message = 'number of fires out of range',
            detail = format('n is %s, not between 1 and 10000.', coalesce(cron_next.n::text, 'null'));
    end if;
    for v_count in 1 .. cron_next.n loop
        v_at := rota._cron_next(
            v_cron, v_zone, v_at, cron_next.gap, cron_next.repeat, v_start
        );
        exit when v_at is null;
        return next v_at;
    end loop;
end;
$$;

comment on function rota.cron_next(text, text, timestamptz, integer, text, text) is
'List the next n instants at which a cron expression fires, strictly after an instant.
expression: five fields (minute, hour, day of month, month, day of week; names, lists,
ranges, steps, L, nL, n#k), a macro (@hourly, @daily, @midnight, @weekly, @monthly, @yearly,
@annually), or @every with a period in weeks to seconds, counted from after. If both day
fields are restricted either may match; if one starts with a star both must.
timezone: an IANA name in any letter case; the fields are read on the clocks of that zone.
after: null means now. n: 1 to 10000.
gap and repeat say what happens to a job at a fixed time, that is without a star at the start
of its minute and hour fields, when the clocks change by less than three hours. gap, a time
that does not exist: run_after, at the first instant after the gap; or skip. repeat, a time
that comes twice: first, or both. Other jobs follow the clock on the wall.
Returns instants in ascending order, each once; fewer than n, or none, when the expression
does not fire so often within 400 years. No setting of the session changes the result.
Errors: RT004 invalid expression or zone, the detail names the field; 22023 other argument.';
