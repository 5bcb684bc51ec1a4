/* The lock table is finite: a runner of many queues says that it is idle with one
key. */
create or replace function rota._idle_keys(p_queues text[])
returns setof integer
language plpgsql
stable
parallel safe
as $$
begin
    if cardinality(p_queues) > 8 then
        return next 0;
    else
        return query
        select -q.id
        from rota.queue as q
        where q.name = any (p_queues)
        order by q.id;
    end if;
end;
$$;
