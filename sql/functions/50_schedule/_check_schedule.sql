create or replace function rota._check_schedule(
    p_schedule rota.schedule
)
returns void
language plpgsql
volatile
parallel unsafe
as $$
/* What a schedule must be besides its expression and zone, including a payload that its
queue will take. */
declare
    v_max_bytes constant integer := (
        select q.max_payload_bytes from rota.queue as q where q.id = p_schedule.queue_id
    );
begin
    perform rota._cron_check_policy(p_schedule.gap, p_schedule.repeat);
    perform rota._check_options(
        'keep', null, p_schedule.max_attempts, p_schedule.timeout
    );
    perform rota._check_job(
        '', p_schedule.kind, rota._schedule_payload(p_schedule, p_schedule.anchor_at),
        p_schedule.priority, null, null, null, v_max_bytes
    );
    if jsonb_typeof(p_schedule.payload) = 'object'
        and p_schedule.payload ? 'schedule'
    then
        perform rota._raise_invalid(
            'payload', 'must not hold the key schedule, which each fire sets'
        );
    elsif p_schedule.missed is null
        or p_schedule.missed not in ('latest', 'skip', 'all')
    then
        perform rota._raise_invalid('missed', 'must be latest, skip or all');
    elsif p_schedule.max_missed is null or p_schedule.max_missed not between 1 and 1000
    then
        perform rota._raise_invalid('max_missed', 'must be between 1 and 1000');
    elsif p_schedule.overlap is null or p_schedule.overlap not in ('allow', 'skip') then
        perform rota._raise_invalid('overlap', 'must be allow or skip');
    end if;
    perform rota._check_duration('max_age', p_schedule.max_age, interval '1 second');
end;
$$;
