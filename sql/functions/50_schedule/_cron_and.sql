create or replace function rota._cron_and(
    p_words text[]
)
returns text
language plpgsql
immutable
parallel safe
as $$
declare
    v_last constant integer := cardinality(p_words);
begin
    return concat_ws(
        ' and ',
        nullif(array_to_string(p_words[:v_last - 1], ', '), ''),
        p_words[v_last]
    );
end;
$$;
