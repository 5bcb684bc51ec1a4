create or replace function rota._cron_range(
    p_item text,
    p_field integer
)
returns integer[]
language plpgsql
stable
parallel safe
as $$
/* First value, last value and step of one item. A step after a single value runs to the
   maximum of the field; for weekdays that is 7, the second Sunday, as in 1-7. */
declare
    v_part constant text[] := regexp_match(
        p_item, '^(\*|[a-z0-9]+)(?:-([a-z0-9]+))?(?:/([0-9]+))?$'
    );
    v_high constant integer := ('{59,23,31,12,7}'::integer[])[p_field];
    v_count constant integer := ('{60,24,31,12,7}'::integer[])[p_field];
    v_step constant text := ltrim(v_part[3], '0');
    v_first integer;
    v_last integer;
begin
    if v_part is null or (v_part[1] = '*' and v_part[2] is not null) then
        perform rota._cron_complain(p_item, p_field);
    end if;
    if v_part[1] = '*' then
        v_first := ('{0,0,1,1,0}'::integer[])[p_field];
        v_last := case p_field when 5 then 6 else v_high end;
    else
        v_first := rota._cron_value(v_part[1], p_item, p_field);
        v_last := case
            when v_part[2] is not null then rota._cron_value(v_part[2], p_item, p_field)
            when v_part[3] is not null then v_high
            else v_first
        end;
    end if;
    if v_last < v_first then
        perform rota._cron_refuse(
            rota._cron_part(p_item, p_field),
            'the range runs backwards',
            'Write two ranges, as in 22-23,0-2; in a range to Sunday write Sunday as 7.'
        );
    end if;
    if v_step = '' or length(v_step) > 2 or v_step::integer > v_count then
        perform rota._cron_refuse(
            rota._cron_part(p_item, p_field),
            format('the step is not between 1 and %s', v_count),
            'A step counts within its field. For a longer period write @every, '
            'as in @every 90m.'
        );
    end if;
    return array[v_first, v_last, coalesce(v_step::integer, 1)];
end;
$$;
