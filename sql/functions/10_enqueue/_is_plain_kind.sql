/* As _is_plain_job: true for most kinds. */
create or replace function rota._is_plain_kind(p_kind text)
returns boolean
language sql
immutable
parallel safe
as $$
    select
        p_kind is not null
        and p_kind ~ '^[[:graph:]]+$'
        and pg_catalog.length(p_kind) <= 200
$$;
