create or replace function rota._cron_split(
    p_expression text
)
returns text[]
language plpgsql
stable
parallel safe
as $$
/* The five fields as text, in lower case. Collation "C" because in a Turkish database
   lower('FRI') would not be 'fri'. */
declare
    v_text text := lower(btrim(p_expression, E' \t') collate "C");
    v_fields text[];
begin
    if coalesce(v_text, '') = '' then
        perform rota._cron_refuse('expression', 'empty or null');
    end if;
    if length(v_text) > 256 then
        perform rota._cron_refuse('expression', 'longer than 256 characters');
    end if;
    if v_text ~ '^@every([ \t]|$)' then
        return array[v_text];
    end if;
    if v_text like '@%' then
        v_text := rota._cron_macro(v_text);
    end if;
    v_fields := regexp_split_to_array(v_text, '[ \t]+');
    if cardinality(v_fields) = 6 then
        perform rota._cron_refuse(
            'expression',
            'six fields, but there is no field for seconds',
            'For a period below a minute write @every, as in @every 10s.'
        );
    elsif cardinality(v_fields) <> 5 then
        perform rota._cron_refuse(
            'expression', format('%s fields instead of five', cardinality(v_fields))
        );
    end if;
    return v_fields;
end;
$$;
