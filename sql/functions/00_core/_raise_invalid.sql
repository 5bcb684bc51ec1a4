create or replace function rota._raise_invalid(p_name text, p_problem text)
returns void
language plpgsql
stable
parallel safe
as $$
begin
    raise exception using
        errcode = 'invalid_parameter_value',
        message = 'invalid ' || p_name,
        detail = p_name || ' ' || p_problem;
end;
$$;
