/* Advisory locks are shared by the whole database: rota's are drawn from its name. */
create or replace function rota._lock_key(p_purpose text)
returns bigint
language sql
immutable
parallel safe
as $$
    select pg_catalog.hashtextextended('rota.' || p_purpose, 0)
$$;
