create or replace function rota.deregister_worker(worker bigint)
returns integer
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
declare
    v_ids bigint[];
    v_executions integer[];
begin
    /* Stronger than the hold of a claim: one in flight on another session ends
    first, so that its jobs are seen below, and none begins. */
    perform
    from rota.worker as w
    where w.id = worker
    for update;
    perform rota._hold_worker(worker);

    select
        coalesce(array_agg(j.id), '{}'),
        coalesce(array_agg(j.execution), '{}')
    into v_ids, v_executions
    from rota.job as j
    where j.worker_id = worker and j.state = 'running';

    perform rota.release_jobs(v_ids, v_executions);
    update rota.worker as w
    set ended_at = rota._now()
    where w.id = worker;
    return cardinality(v_ids);
end;
$$;
