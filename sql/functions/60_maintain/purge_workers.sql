create or replace function rota.purge_workers()
returns integer
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
    v_count integer;
begin
    delete from rota.worker as w
    using rota.setting as s
    where w.ended_at < rota._now() - s.worker_retention
        and not rota._has_running_jobs(w.id);
    get diagnostics v_count = row_count;
    return v_count;
end;
$$;
