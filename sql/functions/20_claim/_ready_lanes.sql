/* Lanes of these queues that hold queued jobs; a negative lane_id is a front lane.

One probe of the index for each lane, which the limit makes sure of: as a semi-join the
planner may read the whole ready index once instead. A session that planned so while
the table was empty keeps the plan, and reads a million entries for each claim. */
create or replace function rota._ready_lanes(p_queues text[])
returns setof rota._ready_lane
language plpgsql
stable
parallel safe
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
begin
    return query
    select
        s.lane_id,
        q.name,
        l.priority
    from rota.queue as q
    inner join rota.lane as l on l.queue_id = q.id
    cross join lateral (values (l.id), (-l.id)) as s (lane_id)
    cross join lateral (
        select
        from rota.job as j
        where j.lane_id = s.lane_id and j.state = 'queued'
        limit 1
    ) as ready
    where q.name = any (p_queues) and q.paused_at is null;
end;
$$;
