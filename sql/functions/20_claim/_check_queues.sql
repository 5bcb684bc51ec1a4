create or replace function rota._check_queues(p_queues text[])
returns void
language plpgsql
stable
parallel safe
as $$
declare
    v_unknown text;
begin
    if p_queues is null or cardinality(p_queues) = 0 then
        perform rota._raise_invalid('queues', 'must name at least one queue');
    elsif num_nulls(variadic p_queues) > 0 then
        perform rota._raise_invalid('queues', 'must not contain null');
    end if;

    /* Counted first, which costs every claim less than looking for each name. */
    if (select count(*) from rota.queue as q where q.name = any (p_queues))
        = cardinality(p_queues)
    then
        return;
    end if;

    select g.name
    into v_unknown
    from unnest(p_queues) as g (name)
    where not exists (select from rota.queue as q where q.name = g.name)
    limit 1;

    if found then
        perform rota._raise_no_queue(v_unknown);
    end if;
end;
$$;
