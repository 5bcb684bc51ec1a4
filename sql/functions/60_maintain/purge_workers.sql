create or replace function rota.purge_workers()
returns integer
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_count integer;
begin
    delete from rota.worker as w
    using rota.setting as s
    where w.ended_at < rota._now() - s.worker_retention
        and not exists (
            select
            from rota.job as j
            where j.worker_id = w.id and j.state = 'running'
        );
    get diagnostics v_count = row_count;
    return v_count;
end;
$$;
