/* Take up to p_max_jobs from the head of one lane.

The ids are found by an uncorrelated subquery, which runs once, so the limit holds under
every plan. "update ... from (select ... limit n)" would be planned as a hash join over
the whole table once the plan is generic. Right after a bulk load the statistics say the
table is empty and any index looks as good as another: the settings leave only the ready
index and the primary key. Before version 18 a path they forbid costs 1e10, which would
start the JIT compiler.

The clock is read when the jobs are locked: whoever handed one back a moment ago may
have read it after p_now. */
create or replace function rota._claim_lane(
    p_worker_id bigint,
    p_lane rota._ready_lane,
    p_max_jobs integer,
    p_now timestamptz
)
returns setof rota.claimed_job
language plpgsql
volatile
parallel unsafe
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
set jit = off
set plan_cache_mode = force_generic_plan
as $$
begin
    return query
    with claimed as (
        update rota.job as j
        set state = 'running',
            worker_id = p_worker_id,
            claimed_at = (select rota._now()),
            deadline_at = p_now + j.timeout,
            attempt = j.attempt + 1,
            execution = j.execution + 1
        where j.id = any (array(
            select c.id
            from rota.job as c
            where c.lane_id = p_lane.lane_id
                and c.state = 'queued'
                and c.position >= p_lane.first_position
            order by c.position
            limit p_max_jobs
            for update skip locked
        ))
        returning j.*
    )

    select
        c.id,
        c.execution,
        c.attempt,
        c.max_attempts,
        p_lane.queue,
        p_lane.priority,
        c.kind,
        c.payload,
        c.timeout,
        c.run_at,
        c.created_at
    from claimed as c
    order by c.position;
end;
$$;
