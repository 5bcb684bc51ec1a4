create or replace function rota._raise_too_large(
    p_name text,
    p_problem text,
    p_hint text
)
returns void
language plpgsql
stable
parallel safe
as $$
begin
    raise exception using
        errcode = 'RT008',
        message = p_name || ' too large',
        detail = p_name || ' ' || p_problem,
        hint = p_hint;
end;
$$;
