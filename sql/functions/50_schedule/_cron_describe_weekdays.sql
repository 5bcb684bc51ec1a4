create or replace function rota._cron_describe_weekdays(
    p_cron rota.cron_expression
)
returns text
language plpgsql
immutable
parallel safe
as $$
/* Null when every day of the week matches. */
declare
    v_names constant text[] :=
        '{Sunday,Monday,Tuesday,Wednesday,Thursday,Friday,Saturday}'::text[];
    v_weeks constant text[] := '{first,second,third,fourth,fifth,last}'::text[];
    v_bits bit varying := substring(p_cron.weekdays from 1 for 7);
    v_words text[] := '{}'::text[];
begin
    if bit_count(v_bits) = 7 then
        return null;
    elsif bit_count(v_bits) > 0 then
        v_words := array[rota._cron_list(v_bits, v_names)];
    end if;
    for v_week in 1 .. 6 loop
        v_bits := substring(p_cron.weekdays from 7 * v_week + 1 for 7);
        if bit_count(v_bits) > 0 then
            v_words := v_words || format(
                'the %s %s of the month',
                v_weeks[v_week],
                rota._cron_list(v_bits, v_names)
            );
        end if;
    end loop;
    return rota._cron_and(v_words);
end;
$$;
