/* This session's floors: of lane n at 2n, of its front lane at 2n + 1. */
create or replace function rota._floors()
returns bigint[]
language sql
stable
parallel safe
as $$
    select coalesce(
        nullif(pg_catalog.current_setting('rota.floors', true), ''), '{}'
    )::pg_catalog.int8[]
$$;
