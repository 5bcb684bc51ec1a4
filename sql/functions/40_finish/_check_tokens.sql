create or replace function rota._check_tokens(p_ids bigint[], p_executions integer[])
returns void
language plpgsql
stable
parallel safe
as $$
begin
    if p_ids is null or p_executions is null then
        perform rota._raise_invalid('ids and executions', 'must not be null');
    elsif cardinality(p_ids) <> cardinality(p_executions) then
        perform rota._raise_invalid('ids and executions', 'must have one length');
    elsif num_nulls(variadic p_ids) > 0
        or num_nulls(variadic p_executions) > 0
    then
        perform rota._raise_invalid('ids and executions', 'must not contain null');
    end if;
end;
$$;
