create or replace function rota.alter_schedule(
    schedule text,
    expression text default null,
    kind text default null,
    payload jsonb default null,
    timezone text default null,
    queue text default null,
    priority integer default null,
    max_attempts integer default null,
    retry_policy text default null,
    timeout interval default null,
    gap text default null,
    repeat text default null,
    missed text default null,
    max_missed integer default null,
    max_age interval default null,
    overlap text default null,
    reset text[] default '{}'
)
returns boolean
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_old constant rota.schedule := rota._find_schedule(schedule);
    v_new rota.schedule := v_old;
begin
    perform rota._check_priority(coalesce(priority, v_old.priority));
    if reset is null or not reset <@ '{max_attempts,retry_policy,timeout,max_age}' then
        perform rota._raise_invalid(
            'reset', 'may hold max_attempts, retry_policy, timeout and max_age'
        );
    end if;
    if expression is not null then
        v_new.expression := rota._cron_trim(expression);
    end if;
    v_new.timezone := rota._cron_zone(coalesce(timezone, v_old.timezone));
    v_new.gap := coalesce(gap, v_old.gap);
    v_new.repeat := coalesce(alter_schedule.repeat, v_old.repeat);
    if queue is not null then
        v_new.queue_id := (rota._find_queue(queue)).id;
    end if;
    v_new.kind := coalesce(kind, v_old.kind);
    v_new.payload := coalesce(payload, v_old.payload);
    v_new.priority := coalesce(priority, v_old.priority);
    v_new.max_attempts := case when 'max_attempts' <> all (reset)
        then coalesce(max_attempts, v_old.max_attempts) end;
    v_new.retry_policy_id := case when 'retry_policy' <> all (reset)
        then coalesce(rota._retry_policy_id(retry_policy), v_old.retry_policy_id) end;
    v_new.timeout := case when 'timeout' <> all (reset)
        then coalesce(timeout, v_old.timeout) end;
    v_new.missed := coalesce(missed, v_old.missed);
    v_new.max_missed := coalesce(max_missed, v_old.max_missed);
    v_new.max_age := case when 'max_age' <> all (reset)
        then coalesce(max_age, v_old.max_age) end;
    v_new.overlap := coalesce(overlap, v_old.overlap);
    perform rota._check_schedule(v_new);
    if v_old.broken_at is null
        and rota._schedule_definition(v_old) = rota._schedule_definition(v_new)
    then
        return false;
    end if;
    perform rota._revise_schedule(v_old, v_new);
    return true;
end;
$$;
