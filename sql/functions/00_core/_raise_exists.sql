create or replace function rota._raise_exists(p_what text, p_name text)
returns void
language plpgsql
stable
parallel safe
as $$
begin
    raise exception using
        errcode = 'duplicate_object',
        message = p_what || ' already exists',
        detail = format('%s %s', p_what, quote_literal(p_name));
end;
$$;
