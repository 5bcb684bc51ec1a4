/* A settlement sent twice (its first answer was lost with the connection) is answered
as the first time. */
create or replace function rota._completed_before(
    p_ids bigint[],
    p_executions integer[],
    p_known bigint[]
)
returns setof bigint
language plpgsql
stable
parallel safe
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
begin
    return query
    select a.id
    from unnest(p_ids, p_executions) as g (id, execution)
    inner join rota.archive as a on a.id = g.id
    where a.execution = g.execution
        and a.state = 'completed'
        and g.id <> all (p_known);
end;
$$;
