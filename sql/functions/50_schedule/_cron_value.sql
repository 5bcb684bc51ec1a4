create or replace function rota._cron_value(
    p_token text,
    p_item text,
    p_field integer
)
returns integer
language plpgsql
stable
parallel safe
as $$
/* One number or name of a field. Leading zeros go first and the length is judged before
   the cast, so that no run of digits can overflow it. */
declare
    v_part constant text := rota._cron_part(p_item, p_field);
    v_low constant integer := ('{0,0,1,1,0}'::integer[])[p_field];
    v_high constant integer := ('{59,23,31,12,7}'::integer[])[p_field];
    v_digits text;
    v_value integer;
begin
    if p_token ~ '^[0-9]+$' then
        v_digits := coalesce(nullif(ltrim(p_token, '0'), ''), '0');
        if length(v_digits) < 3 then
            v_value := v_digits::integer;
        end if;
        if v_value is null or v_value not between v_low and v_high then
            perform rota._cron_refuse(
                v_part,
                format('%s is not between %s and %s', left(v_digits, 20), v_low, v_high)
            );
        end if;
        return v_value;
    end if;

    v_value := case p_field
        when 4 then array_position(
            '{jan,feb,mar,apr,may,jun,jul,aug,sep,oct,nov,dec}'::text[], p_token
        )
        when 5 then array_position('{sun,mon,tue,wed,thu,fri,sat}'::text[], p_token) - 1
    end;
    if v_value is null then
        perform rota._cron_complain(p_item, p_field);
    end if;
    return v_value;
end;
$$;
