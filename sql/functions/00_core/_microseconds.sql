create or replace function rota._microseconds(p_instant timestamptz)
returns bigint
language sql
stable
parallel safe
as $$
    select (extract(epoch from p_instant) * 1000000)::pg_catalog.int8
$$;
