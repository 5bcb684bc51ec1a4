/* The tokens among these that are not among the settled. */
create or replace function rota._refused(
    p_ids bigint[],
    p_executions integer[],
    p_settled bigint[]
)
returns setof rota.exchanged
language plpgsql
immutable
parallel safe
as $$
begin
    return query
    select
        'refused',
        g.id,
        g.execution,
        null::integer, null::integer, null::text, null::smallint, null::text,
        null::jsonb, null::interval, null::timestamptz, null::timestamptz
    from unnest(p_ids, p_executions) as g (id, execution)
    where g.id <> all (p_settled);
end;
$$;
