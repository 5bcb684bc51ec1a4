create or replace function rota.register_worker(
    name text,
    lease interval default '30 seconds',
    version text default null
)
returns bigint
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_now constant timestamptz := rota._now();
    v_id bigint;
begin
    perform rota._check_text('name', name, 200);
    if lease is null or lease > interval '1 day' then
        perform rota._raise_invalid('lease', 'must be at most a day');
    end if;
    perform rota._check_duration('lease', lease, interval '100 milliseconds');
    if version is not null then
        perform rota._check_text('version', version, 100);
    end if;

    insert into rota.worker (
        name, lease, registered_at, heartbeat_at, lease_expires_at, version
    )
    values (
        register_worker.name, register_worker.lease, v_now, v_now,
        v_now + register_worker.lease, register_worker.version
    )
    returning id into v_id;
    return v_id;
end;
$$;
