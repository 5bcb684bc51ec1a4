create or replace function rota._schedule_is_busy(
    p_schedule rota.schedule
)
returns boolean
language plpgsql
stable
parallel safe
as $$
/* True when the schedule allows one live job at a time and has one. */
begin
    return p_schedule.overlap = 'skip' and exists (
        select
        from rota.job as j
        where j.id = p_schedule.last_job_id
    );
end;
$$;
