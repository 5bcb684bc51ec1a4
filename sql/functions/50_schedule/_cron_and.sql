create or replace function rota._cron_and(
    p_words text[]
)
returns text
language sql
immutable
parallel safe
as $$
    select pg_catalog.concat_ws(
        ' and ',
        nullif(pg_catalog.array_to_string(
            p_words[:pg_catalog.cardinality(p_words) - 1], ', '
        ), ''),
        p_words[pg_catalog.cardinality(p_words)]
    );
$$;
