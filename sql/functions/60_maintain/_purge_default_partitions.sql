/* Whole days are dropped with their partition; rows that fell into the default
partition go in batches. */
create or replace function rota._purge_default_partitions(
    p_until timestamptz,
    p_max_rows integer
)
returns integer
language plpgsql
volatile
parallel unsafe
as $$
declare
    v_count integer;
begin
    delete from rota.attempt_default as a
    where a.ctid = any (array(
        select o.ctid
        from rota.attempt_default as o
        where o.finished_at < p_until
        limit p_max_rows
    ));

    delete from rota.archive_default as a
    where a.ctid = any (array(
        select o.ctid
        from rota.archive_default as o
        where o.finished_at < p_until
        limit p_max_rows
    ));
    get diagnostics v_count = row_count;
    return v_count;
end;
$$;
