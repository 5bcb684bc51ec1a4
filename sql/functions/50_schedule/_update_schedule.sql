create or replace function rota._update_schedule(
    p_schedule rota.schedule
)
returns void
language plpgsql
volatile
parallel unsafe
as $$
begin
    update rota.schedule as s
    set expression = p_schedule.expression,
        timezone = p_schedule.timezone,
        gap = p_schedule.gap,
        repeat = p_schedule.repeat,
        queue_id = p_schedule.queue_id,
        kind = p_schedule.kind,
        payload = p_schedule.payload,
        priority = p_schedule.priority,
        max_attempts = p_schedule.max_attempts,
        retry_policy_id = p_schedule.retry_policy_id,
        timeout = p_schedule.timeout,
        missed = p_schedule.missed,
        max_missed = p_schedule.max_missed,
        max_age = p_schedule.max_age,
        overlap = p_schedule.overlap,
        anchor_at = p_schedule.anchor_at,
        checked_at = p_schedule.checked_at,
        next_fires = p_schedule.next_fires,
        paused_at = p_schedule.paused_at,
        pause_reason = p_schedule.pause_reason,
        broken_at = p_schedule.broken_at,
        error = p_schedule.error
    where s.id = p_schedule.id;
    perform rota._schedule_wake(p_schedule);
end;
$$;
