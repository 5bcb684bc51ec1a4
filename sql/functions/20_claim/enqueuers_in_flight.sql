create or replace function rota.enqueuers_in_flight()
returns text[]
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
as $$
/* Mostly nobody is, and asking for their lock alone tells that. */
begin
    if pg_try_advisory_lock(rota._lock_class(), 1) then
        perform pg_advisory_unlock(rota._lock_class(), 1);
        return '{}'::text[];
    end if;
    return rota._line_holders();
end;
$$;
