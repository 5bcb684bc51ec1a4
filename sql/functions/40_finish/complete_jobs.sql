create or replace function rota.complete_jobs(
    ids bigint[],
    executions integer[],
    results jsonb[] default null
)
returns setof bigint
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
begin
    perform rota._check_completed(ids, executions, results);
    return query
    select u.id
    from unnest(rota._complete(ids, executions, results)) as u (id);
end;
$$;
