create or replace function rota._cron_field(
    p_text text,
    p_field integer
)
returns bit varying
language plpgsql
stable
parallel safe
as $$
/* Bitmap of one field (1 minute to 5 day of week), laid out as rota.cron_expression
   says. Weekday 7 is folded onto 0 only after its range has been walked. */
declare
    v_bits bit varying := repeat('0', ('{60,24,32,13,49}'::integer[])[p_field])::varbit;
    v_item text;
    v_range integer[];
    v_special integer;
begin
    foreach v_item in array string_to_array(p_text, ',') loop
        v_special := case
            when p_field = 3 and v_item = 'l' then 0
            when p_field = 5 then rota._cron_weekday(v_item)
        end;
        if v_special is not null then
            v_bits := set_bit(v_bits, v_special, 1);
            continue;
        end if;
        v_range := rota._cron_range(v_item, p_field);
        for v_value in v_range[1] .. v_range[2] by v_range[3] loop
            v_bits := set_bit(
                v_bits, case p_field when 5 then v_value % 7 else v_value end, 1
            );
        end loop;
    end loop;
    return v_bits;
end;
$$;
