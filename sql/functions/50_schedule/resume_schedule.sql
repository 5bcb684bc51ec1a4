create or replace function rota.resume_schedule(
    schedule text
)
returns boolean
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_schedule rota.schedule := rota._find_schedule(schedule);
begin
    if v_schedule.paused_at is null and v_schedule.broken_at is null then
        return false;
    end if;
    v_schedule.paused_at := null;
    v_schedule.pause_reason := null;
    perform rota._update_schedule(rota._plan_schedule(v_schedule, rota._now()));
    return true;
end;
$$;
