create or replace function rota.exchange(
    worker bigint,
    queues text[] default '{default}',
    max_jobs integer default 0,
    completed_ids bigint[] default null,
    completed_executions integer[] default null,
    completed_results jsonb[] default null,
    returned jsonb default null
)
returns setof rota.exchanged
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
set lock_timeout = '250ms'
as $$
/* Whoever has locked one of the jobs must not keep the worker from beating for all the
others: hence the short lock_timeout. */
declare
    v_max_jobs constant integer := rota._check_claim(queues, max_jobs);
    v_worker constant rota.worker := rota._living_worker(worker);
    v_is_held constant boolean :=
        v_max_jobs > 0 and num_nonnulls(completed_ids, returned) > 0;
    v_completed bigint[];
    v_next rota.exchanged;
begin
    perform rota._beat(v_worker, v_worker.lease / 6);

    /* Worker before jobs, as deregister_worker locks them; jobs in one order. */
    if v_is_held then
        perform rota._hold_worker(worker);
    end if;
    if completed_ids is not null and returned is not null then
        perform rota._lock_jobs(
            completed_ids || array(select r.id from rota._returned_rows(returned) as r)
        );
    end if;
    if num_nonnulls(completed_ids, completed_executions) > 0 then
        perform rota._check_completed(
            completed_ids, completed_executions, completed_results
        );
        v_completed := rota._complete(
            completed_ids, completed_executions, completed_results
        );
        if cardinality(v_completed) < cardinality(completed_ids) then
            return query
            select r.*
            from rota._refused(
                completed_ids, completed_executions, v_completed
            ) as r;
        end if;
    end if;
    if returned is not null then
        return query
        select r.*
        from rota._settle_returned(returned) as r;
    end if;

    return query
    select
        'cancel',
        r.id,
        r.execution,
        null::integer, null::integer, null::text, null::smallint, null::text,
        null::jsonb, null::interval, null::timestamptz, null::timestamptz
    from rota._cancel_requests(worker) as r;
    if v_max_jobs > 0 then
        return query
        select c.*
        from rota._claim(worker, queues, v_max_jobs, v_is_held) as c;
    end if;

    v_next.event := 'next';
    v_next.run_at := rota._next_due();
    return next v_next;
end;
$$;
