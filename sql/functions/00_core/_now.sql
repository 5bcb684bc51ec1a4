/* The only clock. now() stands still in a long transaction, which would make leases
short; tests replace this function inside a transaction of their own. */
create or replace function rota._now()
returns timestamptz
language sql
volatile
parallel unsafe
as $$
    select pg_catalog.clock_timestamp()
$$;
