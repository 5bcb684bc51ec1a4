create or replace function rota.maintain(max_jobs integer default 1000)
returns rota.maintained
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
    v_reaped rota.reaped;
    v_done rota.maintained;
begin
    v_done.promoted_count
        := rota.materialize_schedules(max_jobs) + rota.promote_jobs(max_jobs);
    v_reaped := rota.reap_workers(max_jobs);
    v_done.lost_worker_count := v_reaped.worker_count;
    v_done.returned_count := v_reaped.job_count;
    v_done.timed_out_count := rota.time_out_jobs(max_jobs);

    /* House-keeping is one session's work at a time; what locks tables comes last. */
    v_done.purged_count := 0;
    if pg_try_advisory_xact_lock(rota._lock_class(), 5) then
        v_done.purged_count := rota.purge_archive(max_jobs);
        perform rota.purge_keys(max_jobs);
        perform rota.purge_workers();
        perform rota.fold_tally();
        perform rota._store_floors();
        perform rota.ensure_partitions();
    end if;

    v_done.next_due_at := rota._next_due();
    return v_done;
end;
$$;
