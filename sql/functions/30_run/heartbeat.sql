create or replace function rota.heartbeat(worker bigint)
returns setof rota.job_ref
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
as $$
begin
    perform rota._beat(rota._living_worker(worker), interval '0');
    return query
    select r.*
    from rota._cancel_requests(worker) as r;
end;
$$;
