create or replace function rota.alter_settings(
    retention interval default null,
    worker_retention interval default null,
    timeout_grace interval default null
)
returns void
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
    perform rota._check_duration('retention', retention, interval '1 day');
    perform rota._check_duration(
        'worker_retention', worker_retention, interval '1 hour'
    );
    perform rota._check_duration('timeout_grace', timeout_grace, interval '0');

    update rota.setting as s
    set retention = coalesce(alter_settings.retention, s.retention),
        worker_retention
            = coalesce(alter_settings.worker_retention, s.worker_retention),
        timeout_grace = coalesce(alter_settings.timeout_grace, s.timeout_grace)
    where s.is_only;
end;
$$;
