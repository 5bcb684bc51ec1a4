create or replace function rota._schedule_enqueue(
    p_schedule rota.schedule,
    p_due_at timestamptz,
    p_key text
)
returns bigint
language plpgsql
volatile
parallel unsafe
as $$
begin
    return rota.enqueue(
        kind => p_schedule.kind,
        payload => rota._schedule_payload(p_schedule, p_due_at),
        queue => (select q.name from rota.queue as q where q.id = p_schedule.queue_id),
        priority => p_schedule.priority,
        run_at => p_due_at,
        idempotency_key => p_key,
        max_attempts => p_schedule.max_attempts,
        retry_policy => (
            select rp.name
            from rota.retry_policy as rp
            where rp.id = p_schedule.retry_policy_id
        ),
        timeout => p_schedule.timeout
    );
end;
$$;
