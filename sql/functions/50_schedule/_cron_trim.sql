create or replace function rota._cron_trim(
    p_expression text
)
returns text
language plpgsql
immutable
parallel safe
as $$
/* One spelling of the blanks, so that the same expression is the same definition. */
begin
    return regexp_replace(btrim(p_expression, E' \t'), '[ \t]+', ' ', 'g');
end;
$$;
