/* p_lane_ids: one for each completed job that is not archived. */
create or replace function rota._tally_completed(p_lane_ids integer[])
returns void
language plpgsql
volatile
parallel unsafe
as $$
begin
    insert into rota.tally (queue_id, completed_count, cancelled_count)
    select
        l.queue_id,
        count(*),
        0
    from unnest(p_lane_ids) as g (lane_id)
    inner join rota.lane as l on l.id = g.lane_id
    group by l.queue_id;
end;
$$;
