create or replace function rota._check_positive(p_name text, p_value integer)
returns void
language plpgsql
stable
parallel safe
as $$
begin
    if p_value is null then
        perform rota._raise_invalid(p_name, 'must not be null');
    elsif p_value <= 0 then
        perform rota._raise_invalid(p_name, 'must be positive');
    end if;
end;
$$;
