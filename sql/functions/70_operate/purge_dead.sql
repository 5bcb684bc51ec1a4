create or replace function rota.purge_dead(
    ids bigint[] default null,
    queue text default null,
    kind text default null,
    died_before timestamptz default null,
    max_jobs integer default 1000
)
returns integer
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
as $$
declare
    v_ids constant bigint[] := rota._dead_ids(
        ids, queue, kind, null, died_before, max_jobs
    );
begin
    delete from rota.dead_letter as d
    where d.id = any (v_ids);
    return cardinality(v_ids);
end;
$$;
