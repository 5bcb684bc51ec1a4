/* All lanes of these queues, with the first position of each that holds a queued job; a
negative lane_id is a front lane. Each is entered at the higher of the two floors, the
lane's and this session's. */
create or replace function rota._first_positions(p_queues text[], p_floors bigint[])
returns rota._ready_lane[]
language plpgsql
volatile
parallel unsafe
as $$
begin
    return array(
        select row(
            s.lane_id,
            q.name,
            l.priority,
            (
                select j.position
                from rota.job as j
                where j.lane_id = s.lane_id
                    and j.state = 'queued'
                    and j.position >= greatest(
                        s.floor, p_floors[rota._floor_index(s.lane_id)]
                    )
                order by j.position
                limit 1
            )
        )::rota._ready_lane
        from rota.queue as q
        inner join rota.lane as l on l.queue_id = q.id
        cross join lateral (
            values (l.id, l.floor), (-l.id, l.front_floor)
        ) as s (lane_id, floor)
        where q.name = any (p_queues)
    );
end;
$$;
