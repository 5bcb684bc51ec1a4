create or replace function rota.run_schedule_now(
    schedule text
)
returns bigint
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_schedule constant rota.schedule := rota._find_schedule(schedule);
    v_now constant timestamptz := rota._now();
    v_job_id bigint;
begin
    if rota._schedule_is_busy(v_schedule) then
        return null;
    end if;
    v_job_id := rota._schedule_enqueue(v_schedule, v_now, null);
    update rota.schedule as s
    set last_job_id = v_job_id, last_fired_at = v_now
    where s.id = v_schedule.id;
    return v_job_id;
end;
$$;
