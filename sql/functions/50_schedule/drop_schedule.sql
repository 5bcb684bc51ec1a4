create or replace function rota.drop_schedule(
    schedule text
)
returns boolean
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
    delete from rota.schedule as s
    where s.name = drop_schedule.schedule;
    return found;
end;
$$;
