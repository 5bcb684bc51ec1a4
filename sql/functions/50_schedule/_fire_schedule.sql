create or replace function rota._fire_schedule(
    p_schedule rota.schedule,
    p_now timestamptz
)
returns integer
language plpgsql
volatile
parallel unsafe
as $$
/* Enqueue what fell due since the schedule was looked at and look ahead from now. What
is due is worked out afresh from the expression: the stored next fire only says when to
look, so that neither a change of the rules of a zone nor a long downtime replays it.
The caller holds the row, which is what makes every fire one job; the idempotency key
says so on the job, and holds should the clock of the server go back. */
declare
    v_cron constant rota.cron_expression := rota._cron_parse(p_schedule.expression);
    v_age constant interval := case
        when p_schedule.missed = 'skip'
            then coalesce(p_schedule.max_age, rota._longest_sleep())
        else p_schedule.max_age
    end;
    v_due timestamptz[] := rota._cron_due(
        v_cron, p_schedule, greatest(p_schedule.checked_at, p_now - v_age), p_now,
        case when p_schedule.missed = 'all' then p_schedule.max_missed else 1 end
    );
    v_wanted constant integer := cardinality(v_due);
    v_missed constant integer := greatest(0, -v_wanted + cardinality(
        rota._cron_fires_within(v_cron, p_schedule, p_schedule.checked_at, p_now, 1000)
    ));
    v_due_at timestamptz;
    v_job_id bigint;
begin
    if rota._schedule_is_busy(p_schedule) then
        v_due := '{}';
    elsif p_schedule.overlap = 'skip' then
        v_due := v_due[v_wanted:];
    end if;
    foreach v_due_at in array v_due loop
        v_job_id := rota._schedule_enqueue(
            p_schedule, v_due_at,
            format(
                'schedule:%s:%s', p_schedule.id, extract(epoch from v_due_at)::bigint
            )
        );
    end loop;

    update rota.schedule as s
    set checked_at = p_now,
        next_fires = rota._schedule_fires(v_cron, p_schedule, p_now),
        last_due_at = coalesce(v_due_at, s.last_due_at),
        last_fired_at = case when v_job_id is null then s.last_fired_at else p_now end,
        last_job_id = coalesce(v_job_id, s.last_job_id),
        missed_count = s.missed_count + v_missed,
        overlapped_count = s.overlapped_count + v_wanted - cardinality(v_due)
    where s.id = p_schedule.id;
    return cardinality(v_due);
end;
$$;
