create or replace function rota.version()
returns text
language sql
immutable
parallel safe
as $$
    select '@VERSION@'::pg_catalog.text
$$;
