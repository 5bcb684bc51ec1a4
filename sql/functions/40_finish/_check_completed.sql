create or replace function rota._check_completed(
    p_ids bigint[],
    p_executions integer[],
    p_results jsonb[]
)
returns void
language plpgsql
stable
parallel safe
as $$
begin
    perform rota._check_tokens(p_ids, p_executions);
    if cardinality(p_results) <> cardinality(p_ids) then
        perform rota._raise_invalid('results', 'must have the length of ids');
    end if;
end;
$$;
