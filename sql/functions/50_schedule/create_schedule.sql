create or replace function rota.create_schedule(
    schedule text,
    expression text,
    kind text,
    payload jsonb default '{}',
    timezone text default 'UTC',
    queue text default 'default',
    priority integer default 0,
    max_attempts integer default null,
    retry_policy text default null,
    timeout interval default null,
    gap text default 'run_after',
    repeat text default 'first',
    missed text default 'latest',
    max_missed integer default 100,
    max_age interval default null,
    overlap text default 'allow',
    replace boolean default false
)
returns text
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_queue_id constant integer := (rota._find_queue(queue)).id;
    v_old rota.schedule;
    v_new rota.schedule;
begin
    perform rota._check_text('schedule', schedule, 200);
    perform rota._check_priority(priority);
    v_old := rota._locked_schedule(schedule);
    v_new := v_old;
    v_new.name := schedule;
    v_new.expression := rota._cron_trim(expression);
    v_new.timezone := rota._cron_zone(timezone);
    v_new.gap := gap;
    v_new.repeat := create_schedule.repeat;
    v_new.queue_id := v_queue_id;
    v_new.kind := kind;
    v_new.payload := payload;
    v_new.priority := priority;
    v_new.max_attempts := max_attempts;
    v_new.retry_policy_id := rota._retry_policy_id(retry_policy);
    v_new.timeout := timeout;
    v_new.missed := missed;
    v_new.max_missed := max_missed;
    v_new.max_age := max_age;
    v_new.overlap := overlap;
    perform rota._check_schedule(v_new);

    if v_old.id is null then
        v_old := rota._insert_schedule(v_new);
        if v_old.id is null then
            return 'created';
        end if;
    end if;
    if rota._schedule_definition(v_old) = rota._schedule_definition(v_new) then
        return 'unchanged';
    elsif not coalesce(replace, false) then
        perform rota._raise_exists('schedule', schedule);
    end if;
    perform rota._revise_schedule(v_old, v_new);
    return 'changed';
end;
$$;
