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
/* The instant is a value, not joined: a filter on the worker alone would come first and
look for the jobs of each that lives. */
declare
    v_before constant timestamptz := (
        select rota._now() - s.worker_retention
        from rota.setting as s
    );
    v_count integer;
begin
    delete from rota.worker as w
    where w.ended_at < v_before and not rota._has_running_jobs(w.id);
    get diagnostics v_count = row_count;
    return v_count;
end;
$$;
