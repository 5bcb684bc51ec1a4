create or replace function rota._cron_complain(
    p_item text,
    p_field integer
)
returns void
language plpgsql
stable
parallel safe
as $$
/* An item that is no number, name, range or step: say what is wrong with it, naming the
   extension of another cron that the writer probably had in mind. */
declare
    v_hint text;
    v_reason text;
begin
    case
        when p_item = '' then
            v_reason := 'an item of the list is empty';
        when p_item like '%?%' then
            v_reason := '? is not supported';
            v_hint := 'Write * instead.';
        when p_item ~ '^([0-9]+|l)w$' or p_item = 'w' then
            v_reason := 'W, the nearest working day, is not supported';
        when p_item like '%#%' then
            v_reason := '# takes one weekday and a number from 1 to 5, as in 5#2, '
                'in the day of week field only';
        when p_item ~ '^l|l[-/]|[0-9]l$' then
            v_reason := 'L stands alone in the day of month field, or right after one '
                'weekday in the day of week field, as in 5L';
        when p_item like '%-' or p_item like '-%' then
            v_reason := 'a range needs a number on both sides, and none is negative';
        when p_item like '%*%' then
            v_reason := '* stands alone or before one step, as in */5';
        when p_item like '%/%' then
            v_reason := 'a step is one whole number after * or a range, as in 10-50/20';
        else
            v_reason := 'not a number, name, range or step';
    end case;
    perform rota._cron_refuse(rota._cron_part(p_item, p_field), v_reason, v_hint);
end;
$$;
