create or replace function rota._find_schedule(
    p_schedule text
)
returns rota.schedule
language plpgsql
volatile
parallel unsafe
as $$
declare
    v_schedule constant rota.schedule := rota._locked_schedule(p_schedule);
begin
    if p_schedule is null then
        perform rota._raise_invalid('schedule', 'must not be null');
    elsif v_schedule.id is null then
        raise exception using
            errcode = 'undefined_object',
            message = 'no such schedule',
            detail = format('schedule %s', quote_literal(left(p_schedule, 200))),
            hint = 'Create it with rota.create_schedule.';
    end if;
    return v_schedule;
end;
$$;
