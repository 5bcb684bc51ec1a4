create or replace function rota._insert_schedule(
    p_schedule rota.schedule
)
returns rota.schedule
language plpgsql
volatile
parallel unsafe
as $$
/* Store a new schedule, from now on. Returns nulls; or, when a rival took the name in
the meantime, the rival's row, locked. */
declare
    v_now constant timestamptz := rota._now();
    v_new rota.schedule := p_schedule;
begin
    v_new.anchor_at := date_trunc('second', v_now);
    v_new := rota._plan_schedule(v_new, v_now);
    insert into rota.schedule (
        name, expression, timezone, gap, repeat, queue_id, kind, payload, priority,
        max_attempts, retry_policy_id, timeout, missed, max_missed, max_age, overlap,
        created_at, anchor_at, checked_at, next_fires
    )
    values (
        v_new.name, v_new.expression, v_new.timezone, v_new.gap, v_new.repeat,
        v_new.queue_id, v_new.kind, v_new.payload, v_new.priority, v_new.max_attempts,
        v_new.retry_policy_id, v_new.timeout, v_new.missed, v_new.max_missed,
        v_new.max_age, v_new.overlap, v_now, v_new.anchor_at, v_new.checked_at,
        v_new.next_fires
    )
    on conflict (name) do nothing;
    if not found then
        return rota._locked_schedule(p_schedule.name);
    end if;
    perform rota._schedule_wake(v_new);
    return null;
end;
$$;
