create or replace function rota.release_stray_jobs(
    worker bigint,
    ids bigint[],
    executions integer[]
)
returns setof rota.settled_job
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_nestloop = off
set jit = off
as $$
/* A claim may be committed and its answer lost with the connection. The worker lives
on, so no lease runs out, and the jobs would wait for as long as it lives. */
declare
    v_ids bigint[];
    v_executions integer[];
begin
    perform rota._check_tokens(ids, executions);
    perform rota._hold_worker(worker);

    select
        coalesce(array_agg(j.id), '{}'),
        coalesce(array_agg(j.execution), '{}')
    into v_ids, v_executions
    from rota.job as j
    where j.worker_id = release_stray_jobs.worker
        and j.state = 'running'
        and not exists (
            select
            from unnest(
                release_stray_jobs.ids, release_stray_jobs.executions
            ) as known (id, execution)
            where known.id = j.id and known.execution = j.execution
        );

    return query
    select r.*
    from rota.release_jobs(v_ids, v_executions) as r;
end;
$$;
