create or replace function rota.create_queue(
    queue text,
    max_attempts integer default 10,
    retry_policy text default 'default',
    timeout interval default null,
    max_lost integer default 5,
    max_payload_bytes integer default 2097152,
    retention interval default null,
    is_notifying boolean default true
)
returns void
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
    perform rota._check_text('queue', queue, 100);
    if queue !~ '^[A-Za-z0-9][A-Za-z0-9_.:/-]*$' then
        perform rota._raise_invalid(
            'queue',
            'must be letters, digits and _ . : / - and begin with a letter or digit'
        );
    elsif retry_policy is null then
        perform rota._raise_invalid('retry_policy', 'must not be null');
    elsif is_notifying is null then
        perform rota._raise_invalid('is_notifying', 'must not be null');
    end if;
    perform rota._check_queue_settings(
        coalesce(max_attempts, 0), timeout, coalesce(max_lost, 0),
        coalesce(max_payload_bytes, 0), retention
    );

    perform rota._insert_queue(
        queue, max_attempts, rota._retry_policy_id(retry_policy), timeout, max_lost,
        max_payload_bytes, retention, is_notifying
    );
end;
$$;
