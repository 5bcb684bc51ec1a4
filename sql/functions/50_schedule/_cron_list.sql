create or replace function rota._cron_list(
    p_bits bit varying,
    p_names text[] default null
)
returns text
language plpgsql
immutable
parallel safe
as $$
/* The set bits in English, as numbers or as names: 1, 3 through 7 and 9. */
declare
    v_words text[] := '{}'::text[];
    v_first integer := 0;
    v_last integer;
    v_from text;
    v_to text;
begin
    while v_first < length(p_bits) loop
        if get_bit(p_bits, v_first) = 0 then
            v_first := v_first + 1;
            continue;
        end if;
        v_last := v_first;
        while v_last + 1 < length(p_bits) and get_bit(p_bits, v_last + 1) = 1 loop
            v_last := v_last + 1;
        end loop;
        v_last := case when v_last > v_first + 1 then v_last else v_first end;
        v_from := coalesce(p_names[v_first + 1], v_first::text);
        v_to := coalesce(p_names[v_last + 1], v_last::text);
        v_words := v_words || case
            when v_last > v_first then v_from || ' through ' || v_to else v_from
        end;
        v_first := v_last + 1;
    end loop;
    return rota._cron_and(v_words);
end;
$$;
