/* The marks of an idle runner, in the order in which they are locked: 0 in any case,
then one for each queue. The lock table is finite: a runner of many queues leaves one
for all. */
create or replace function rota._idle_keys(p_queues text[])
returns setof integer
language plpgsql
stable
parallel safe
as $$
begin
    return next 0;
    if cardinality(p_queues) > 8 then
        return next 2147483647;
    else
        return query
        select -q.id
        from rota.queue as q
        where q.name = any (p_queues)
        order by q.id;
    end if;
end;
$$;
