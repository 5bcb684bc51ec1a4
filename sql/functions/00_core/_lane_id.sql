/* Lanes appear on first use and never go. */
create or replace function rota._lane_id(p_queue_id integer, p_priority integer)
returns integer
language plpgsql
volatile
parallel unsafe
as $$
declare
    v_id integer;
begin
    select l.id
    into v_id
    from rota.lane as l
    where l.queue_id = p_queue_id and l.priority = p_priority;

    if v_id is null then
        insert into rota.lane (queue_id, priority)
        values (p_queue_id, p_priority)
        on conflict (queue_id, priority) do update set priority = excluded.priority
        returning id into v_id;
    end if;
    return v_id;
end;
$$;
