/* Take up to p_max_jobs from the heads of the lanes of these queues. p_is_held: this
transaction holds the worker already.

Jobs are updated where they were locked, without a look at the primary key. Hence two
statements: the snapshot that finds a job which changes before it is locked does not see
the version that gets locked, a later one does. The clock is read when they are locked:
whoever handed one back a moment ago may have read it after the claim began. */
create or replace function rota._claim(
    p_worker_id bigint,
    p_queues text[],
    p_max_jobs integer,
    p_is_held boolean
)
returns setof rota.exchanged
language plpgsql
volatile
parallel unsafe
as $$
declare
    v_left integer := p_max_jobs;
    v_is_held boolean := p_is_held;
    v_now timestamptz;
    v_positions rota._position_state;
    v_lanes rota._ready_lane[];
    v_lane rota._ready_lane;
    v_jobs tid[];
begin
    /* First what is settled, then, on a later snapshot, what is to be seen. */
    v_positions := rota._settle_positions();
    v_lanes := rota._ready_lanes(p_queues, rota._floors());
    v_positions := rota._raise_floors(v_lanes, v_positions);

    foreach v_lane in array v_lanes loop
        continue when v_lane.first_position is null;
        if not v_is_held then
            perform rota._hold_worker(p_worker_id);
            v_is_held := true;
        end if;

        v_jobs := rota._lock_ready_jobs(v_lane, v_left);
        v_now := rota._now();
        return query
        with claimed as (
            update rota.job as j
            set state = 'running',
                worker_id = p_worker_id,
                claimed_at = v_now,
                deadline_at = v_now + j.timeout,
                attempt = j.attempt + 1,
                execution = j.execution + 1
            where j.ctid = any (v_jobs)
            returning
                j.position, j.id, j.execution, j.attempt, j.max_attempts, j.kind,
                j.payload, j.timeout, j.run_at, j.created_at
        )

        select
            'claimed', c.id, c.execution, c.attempt, c.max_attempts, v_lane.queue,
            v_lane.priority, c.kind, c.payload, c.timeout, c.run_at, c.created_at
        from claimed as c
        order by c.position;
        v_left := v_left - cardinality(v_jobs);
        exit when v_left = 0;
    end loop;

    v_positions.floored := v_positions.floored - (p_max_jobs - v_left);
    perform rota._mark_positions(v_positions);
end;
$$;
