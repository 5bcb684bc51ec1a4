create or replace function rota._schedule_fires(
    p_cron rota.cron_expression,
    p_schedule rota.schedule,
    p_after timestamptz
)
returns timestamptz[]
language plpgsql
stable
parallel safe
as $$
/* The next three fires; RT004 if there is none at all. */
declare
    v_fires constant timestamptz[] := rota._cron_fires_within(
        p_cron, p_schedule, p_after, 'infinity', 3
    );
begin
    if v_fires = '{}' then
        perform rota._cron_refuse(
            format('expression, "%s"', left(p_schedule.expression, 40)),
            'never fires, as all its times fall into gaps, which are skipped',
            'Choose another time, or the gap policy run_after.'
        );
    end if;
    return v_fires;
end;
$$;
