/* Where the next jobs of these queues lie: up to p_max_jobs that nobody else is
claiming, lane by lane, with the lane of each; a negative lane_id is a front lane. All
are null when there are none.

Lanes are visited by priority, front lanes first, the others in any order: one number
to sort by, for three take a thousand lanes thrice as long. A lane is entered at the
higher of two floors, its own and this session's, once those before it had too few.

"update ... from (select ... limit n)" would be planned as a hash join over the whole
table once the plan is generic. Right after a bulk load the statistics say that the
table is empty and any index looks as good as another: these settings, with those of the
verbs that claim, leave only the ready index. Before version 18 a path they forbid costs
1e10, which would start the JIT compiler. */
create or replace function rota._lock_ready_jobs(
    p_queues text[],
    p_floors bigint[],
    p_max_jobs integer
)
returns rota._locked_jobs
language plpgsql
volatile
parallel unsafe
set enable_memoize = off
set enable_sort = off
as $$
declare
    v_locked rota._locked_jobs;
begin
    select
        array_agg(f.job),
        array_agg(f.lane_id),
        array_agg(f.queue),
        array_agg(f.priority),
        (array_agg(f.position))[1]
    into v_locked
    from (
        select c.ctid as job, c.position, n.lane_id, n.queue, n.priority
        from (
            select s.lane_id, s.floor, q.name as queue, l.priority
            from rota.queue as q
            inner join rota.lane as l on l.queue_id = q.id
            cross join lateral (
                values (l.id, l.floor), (-l.id, l.front_floor)
            ) as s (lane_id, floor)
            where q.name = any (p_queues) and q.paused_at is null
            order by
                2 * l.priority + (s.lane_id < 0)::integer - random() / 2 desc
        ) as n
        cross join lateral (
            select j.ctid, j.position
            from rota.job as j
            where j.lane_id = n.lane_id
                and j.state = 'queued'
                and j.position >= greatest(
                    n.floor, p_floors[rota._floor_index(n.lane_id)]
                )
            order by j.position
            limit p_max_jobs
            for update skip locked
        ) as c
        limit p_max_jobs
    ) as f;
    return v_locked;
end;
$$;
