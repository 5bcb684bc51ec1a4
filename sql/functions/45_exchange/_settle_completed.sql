create or replace function rota._settle_completed(
    p_ids bigint[],
    p_executions integer[],
    p_results jsonb[]
)
returns setof rota.exchanged
language plpgsql
volatile
parallel unsafe
as $$
declare
    v_settled constant bigint[] := array(
        select c.id
        from rota.complete_jobs(p_ids, p_executions, p_results) as c (id)
    );
begin
    if cardinality(v_settled) < cardinality(p_ids) then
        return query
        select r.*
        from rota._refused(p_ids, p_executions, v_settled) as r;
    end if;
end;
$$;
