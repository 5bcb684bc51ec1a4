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
    v_at timestamptz := p_after;
    v_fires timestamptz[] := '{}';
begin
    for v_number in 1 .. 3 loop
        v_at := rota._cron_next(
            p_cron, p_schedule.timezone, v_at, p_schedule.gap, p_schedule.repeat,
            p_schedule.anchor_at
        );
        exit when v_at is null;
        v_fires := v_fires || v_at;
    end loop;
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
