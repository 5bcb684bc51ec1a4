create or replace function rota._check_priority(
    p_priority integer
)
returns void
language plpgsql
stable
parallel safe
as $$
/* Before it is cast to the smallint of the row. */
begin
    if p_priority is null or p_priority not between -32768 and 32767 then
        perform rota._raise_invalid('priority', 'must be between -32768 and 32767');
    end if;
end;
$$;
