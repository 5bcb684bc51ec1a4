create or replace function rota._locked_schedule(
    p_schedule text
)
returns rota.schedule
language plpgsql
volatile
parallel unsafe
as $$
/* Whoever changes a schedule waits for whoever fires it. Nulls when there is none. */
declare
    v_schedule rota.schedule;
begin
    select s.*
    into v_schedule
    from rota.schedule as s
    where s.name = p_schedule
    for no key update;
    return v_schedule;
end;
$$;
