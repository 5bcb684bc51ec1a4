create or replace function rota.claim_jobs(
    worker bigint,
    queues text[] default '{default}',
    max_jobs integer default 1
)
returns setof rota.claimed_job
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_now constant timestamptz := rota._now();
    v_left integer := least(max_jobs, 10000);
    v_claimed integer;
    v_lane record;
begin
    if max_jobs is null or max_jobs < 0 then
        perform rota._raise_invalid('max_jobs', 'must be zero or more');
    end if;
    perform rota._check_queues(queues);
    perform rota._hold_worker(worker);

    /* A loop, because what one lane yields decides how much the next may. Lanes of one
    priority come in random order, so that none is always first. */
    for v_lane in
        select r.*
        from rota._ready_lanes(queues) as r
        order by r.priority desc, r.lane_id > 0, random()
    loop
        exit when v_left = 0;
        return query
        select c.*
        from rota._claim_lane(
            worker, v_lane.lane_id, v_lane.queue, v_lane.priority, v_left, v_now
        ) as c;
        get diagnostics v_claimed = row_count;
        v_left := v_left - v_claimed;
    end loop;
end;
$$;
