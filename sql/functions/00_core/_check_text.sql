/* One rule for every name, kind and key: printable, not blank, at most p_max long. */
create or replace function rota._check_text(p_name text, p_value text, p_max integer)
returns void
language plpgsql
stable
parallel safe
as $$
begin
    if p_value is null then
        perform rota._raise_invalid(p_name, 'must not be null');
    elsif p_value !~ '[^[:space:]]' then
        perform rota._raise_invalid(p_name, 'must not be empty');
    elsif p_value ~ '[[:cntrl:]]' then
        perform rota._raise_invalid(p_name, 'must not contain control characters');
    elsif pg_catalog.length(p_value) > p_max then
        perform rota._raise_too_large(
            p_name,
            pg_catalog.format('is %s characters long', pg_catalog.length(p_value)),
            pg_catalog.format('At most %s characters are stored.', p_max)
        );
    end if;
end;
$$;
