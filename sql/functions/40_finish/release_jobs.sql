create or replace function rota.release_jobs(ids bigint[], executions integer[])
returns setof rota.settled_job
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
    perform rota._check_tokens(ids, executions);
    return query
    select e.*
    from rota._end_executions(
        ids, executions, array_fill('released'::text, array[cardinality(ids)])
    ) as e;
end;
$$;
