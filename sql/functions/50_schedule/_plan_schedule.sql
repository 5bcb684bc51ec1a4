create or replace function rota._plan_schedule(
    p_schedule rota.schedule,
    p_now timestamptz
)
returns rota.schedule
language plpgsql
stable
parallel safe
as $$
/* The schedule as it looks when it starts afresh from now: nothing before is due, and
what broke it is forgotten. RT004 for an expression that is invalid or never fires. */
declare
    v_fires constant timestamptz[] := rota._schedule_fires(
        rota._cron_parse(p_schedule.expression), p_schedule, p_now
    );
begin
    p_schedule.checked_at := p_now;
    p_schedule.broken_at := null;
    p_schedule.error := null;
    p_schedule.next_fires := case
        when p_schedule.paused_at is null then v_fires
        else '{}'
    end;
    return p_schedule;
end;
$$;
