create or replace function rota.alter_queue(
    queue text,
    max_attempts integer default null,
    retry_policy text default null,
    timeout interval default null,
    max_lost integer default null,
    max_payload_bytes integer default null,
    retention interval default null,
    is_notifying boolean default null,
    reset text[] default '{}'
)
returns void
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_queue_id constant integer := (rota._find_queue(queue)).id;
    v_policy_id constant integer := rota._retry_policy_id(retry_policy);
begin
    perform rota._check_queue_settings(
        max_attempts, timeout, max_lost, max_payload_bytes, retention
    );
    if reset is null or not reset <@ '{timeout,retention}' then
        perform rota._raise_invalid('reset', 'may hold timeout and retention');
    end if;

    update rota.queue as q
    set max_attempts = coalesce(alter_queue.max_attempts, q.max_attempts),
        retry_policy_id = coalesce(v_policy_id, q.retry_policy_id),
        timeout = case
            when 'timeout' <> all (reset) then coalesce(alter_queue.timeout, q.timeout)
        end,
        max_lost = coalesce(alter_queue.max_lost, q.max_lost),
        max_payload_bytes
            = coalesce(alter_queue.max_payload_bytes, q.max_payload_bytes),
        retention = case
            when 'retention' <> all (reset)
                then coalesce(alter_queue.retention, q.retention)
        end,
        is_notifying = coalesce(alter_queue.is_notifying, q.is_notifying)
    where q.id = v_queue_id;
end;
$$;
