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
            detail = format(
                'n is %s, not between 1 and 10000.', coalesce(cron_next.n::text, 'null')
            );
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
