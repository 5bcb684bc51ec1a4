create or replace function rota._find_queue(p_queue text)
returns rota.queue
language plpgsql
stable
parallel safe
as $$
declare
    v_queue rota.queue;
begin
    select q.*
    into v_queue
    from rota.queue as q
    where q.name = p_queue;

    if v_queue.id is null then
        perform rota._raise_no_queue(p_queue);
    end if;
    return v_queue;
end;
$$;
