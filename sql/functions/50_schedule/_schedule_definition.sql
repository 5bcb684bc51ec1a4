create or replace function rota._schedule_definition(
    p_schedule rota.schedule
)
returns jsonb
language plpgsql
stable
parallel safe
as $$
/* What its owner said, without what happened to it since. */
begin
    return to_jsonb(p_schedule) - '{id,created_at,anchor_at,checked_at,next_fires,
        last_due_at,last_fired_at,last_job_id,missed_count,overlapped_count,paused_at,
        pause_reason,broken_at,error}'::text[];
end;
$$;
