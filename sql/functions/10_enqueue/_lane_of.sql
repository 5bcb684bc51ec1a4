/* Make the lanes of these priorities, null for 0 alone; the lane's id if there is only
one. */
create or replace function rota._lane_of(p_queue_id integer, p_priorities integer[])
returns integer
language plpgsql
volatile
parallel unsafe
as $$
declare
    v_ids integer[];
begin
    if p_priorities is null then
        return rota._lane_id(p_queue_id, 0);
    end if;

    v_ids := array(
        select rota._lane_id(p_queue_id, p.priority)
        from (
            select distinct u.priority
            from unnest(p_priorities) as u (priority)
            order by u.priority
        ) as p
    );
    return case cardinality(v_ids) when 1 then v_ids[1] end;
end;
$$;
