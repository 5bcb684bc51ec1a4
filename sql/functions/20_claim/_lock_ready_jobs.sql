/* Where the next jobs of a lane lie: up to p_max_jobs that nobody else is claiming.

"update ... from (select ... limit n)" would be planned as a hash join over the whole
table once the plan is generic. Right after a bulk load the statistics say that the
table is empty and any index looks as good as another: this setting, with those of the
verbs that claim, leaves only the ready index. Before version 18 a path they forbid
costs 1e10, which would start the JIT compiler. */
create or replace function rota._lock_ready_jobs(
    p_lane rota._ready_lane,
    p_max_jobs integer
)
returns tid[]
language plpgsql
volatile
parallel unsafe
set enable_sort = off
as $$
begin
    return array(
        select c.ctid
        from rota.job as c
        where c.lane_id = p_lane.lane_id
            and c.state = 'queued'
            and c.position >= p_lane.first_position
        order by c.position
        limit p_max_jobs
        for update skip locked
    );
end;
$$;
