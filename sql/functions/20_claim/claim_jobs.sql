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
set plan_cache_mode = force_generic_plan
as $$
declare
    v_left integer := least(max_jobs, 10000);
    v_positions rota._position_state;
    v_lanes rota._ready_lane[];
    v_lane rota._ready_lane;
    v_now timestamptz;
    v_claimed integer;
begin
    if max_jobs is null or max_jobs < 0 then
        perform rota._raise_invalid('max_jobs', 'must be zero or more');
    end if;
    perform rota._check_queues(queues);
    perform rota._living_worker(worker);
    if max_jobs = 0 then
        return;
    end if;

    /* First what is settled, then, on a later snapshot, what is to be seen. */
    v_positions := rota._settle_positions();
    v_lanes := rota._ready_lanes(queues, rota._floors());
    v_positions := rota._raise_floors(v_lanes, v_positions);

    foreach v_lane in array v_lanes loop
        continue when v_lane.first_position is null;
        if v_now is null then
            perform rota._hold_worker(worker);
            v_now := rota._now();
        end if;

        return query
        select c.*
        from rota._claim_lane(worker, v_lane, v_left, v_now) as c;
        get diagnostics v_claimed = row_count;
        v_left := v_left - v_claimed;
        exit when v_left = 0;
    end loop;

    perform rota._mark_positions(v_positions);
end;
$$;
