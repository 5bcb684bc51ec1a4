create or replace function rota.claim_jobs(
    worker bigint,
    queues text[] default '{default}',
    max_jobs integer default 1
)
returns setof rota.claimed_job
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
set plan_cache_mode = force_generic_plan
as $$
declare
    v_max_jobs constant integer := rota._check_claim(queues, max_jobs);
begin
    perform rota._living_worker(worker);
    if v_max_jobs > 0 then
        return query
        select
            c.id, c.execution, c.attempt, c.max_attempts, c.queue, c.priority, c.kind,
            c.payload, c.timeout, c.run_at, c.created_at
        from rota._claim(worker, queues, v_max_jobs, false) as c;
    end if;
end;
$$;
