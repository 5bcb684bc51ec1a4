create or replace function rota._insert_queue(
    p_queue text,
    p_max_attempts integer,
    p_retry_policy_id integer,
    p_timeout interval,
    p_max_lost integer,
    p_max_payload_bytes integer,
    p_retention interval,
    p_is_notifying boolean
)
returns void
language plpgsql
volatile
parallel unsafe
as $$
declare
    v_id integer;
begin
    insert into rota.queue (
        name, max_attempts, retry_policy_id, timeout, max_lost, max_payload_bytes,
        retention, is_notifying, created_at
    )
    values (
        p_queue, p_max_attempts, p_retry_policy_id, p_timeout, p_max_lost,
        p_max_payload_bytes, p_retention, p_is_notifying, rota._now()
    )
    on conflict (name) do nothing
    returning id into v_id;
    if v_id is null then
        perform rota._raise_exists('queue', p_queue);
    end if;
    perform rota._lane_id(v_id, 0);
end;
$$;
