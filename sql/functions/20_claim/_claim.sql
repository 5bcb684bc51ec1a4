/* Take up to p_max_jobs from the heads of the lanes of these queues. p_is_held: this
transaction holds the worker already; otherwise jobs are locked before the worker, for
to hold one is to write. That cannot deadlock: whoever locks a worker and then jobs is
after those that run, and those locked here are queued.

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
    v_floors constant bigint[] := rota._floors();
    v_positions rota._position_state;
    v_found rota._locked_jobs;
    v_count integer;
    v_is_mixed boolean;
    v_now timestamptz;
begin
    /* First what is settled, then, on a later snapshot, what is to be seen. */
    v_positions := rota._settle_positions();
    v_found := rota._lock_ready_jobs(p_queues, v_floors, p_max_jobs);
    v_positions := rota._raise_floors(
        p_queues, v_floors, v_positions, v_found.lane_ids[1], v_found.first_position
    );

    if v_found.jobs is not null then
        if not p_is_held then
            perform rota._hold_worker(p_worker_id);
        end if;
        v_count := cardinality(v_found.jobs);
        v_is_mixed := v_found.lane_ids[1] <> v_found.lane_ids[v_count];
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
            where j.ctid = any (v_found.jobs)
            returning
                case
                    when v_is_mixed then array_position(v_found.lane_ids, j.lane_id)
                    else 1
                end as place,
                j.position, j.id, j.execution, j.attempt, j.max_attempts, j.kind,
                j.payload, j.timeout, j.run_at, j.created_at
        )

        /* Sorted before more is put in front of the columns to sort by. */
        select
            'claimed', c.id, c.execution, c.attempt, c.max_attempts,
            v_found.queues[c.place], v_found.priorities[c.place], c.kind, c.payload,
            c.timeout, c.run_at, c.created_at
        from (select * from claimed as o order by o.place, o.position) as c;
        v_positions.floored := v_positions.floored - v_count;
    end if;
    perform rota._mark_positions(v_positions);
end;
$$;
