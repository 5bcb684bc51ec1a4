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

comment on function rota.release_stray_jobs(bigint, bigint[], integer[]) is
'Release, uncharged, the running jobs of a worker that it does not know of.
worker: an id from register_worker whose lease has not been lost. ids, executions: the jobs it does know of, in pairs; those are left alone.
For a worker that lost the answer to claim_jobs or exchange with its connection: the jobs in that answer are its own, and it cannot run them.
Returns one settled_job per job released.
Errors: RT007 worker lost; 22023 ids and executions do not pair.';
