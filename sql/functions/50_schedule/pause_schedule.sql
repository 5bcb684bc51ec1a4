create or replace function rota.pause_schedule(
    schedule text,
    reason text default null
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
    if reason is not null then
        perform rota._check_text('reason', reason, 500);
    end if;
    if v_schedule.paused_at is not null then
        return false;
    end if;
    v_schedule.paused_at := rota._now();
    v_schedule.pause_reason := reason;
    v_schedule.next_fires := '{}';
    perform rota._update_schedule(v_schedule);
    return true;
end;
$$;
