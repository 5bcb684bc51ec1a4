create or replace function rota.complete_job(
    id bigint,
    execution integer,
    result jsonb default null
)
returns void
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
    perform rota.complete_jobs(array[id], array[execution], array[result]);
    if not found then
        perform rota._raise_refused(id, execution);
    end if;
end;
$$;
