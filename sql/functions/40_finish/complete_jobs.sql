create or replace function rota.complete_jobs(
    ids bigint[],
    executions integer[],
    results jsonb[] default null
)
returns setof bigint
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
set plan_cache_mode = force_generic_plan
as $$
/* Fenced by execution and claimed_at only: a predicate on a column of another partial
index (worker_id, state) would invite the planner to walk that index with all its dead
entries. Rows are locked in the order of their ids, so batches cannot deadlock. */
declare
    v_now constant timestamptz := rota._now();
    v_unarchived constant integer[] := rota._unarchived_lanes();
    v_completed bigint[];
begin
    perform rota._check_tokens(ids, executions);
    if cardinality(results) <> cardinality(ids) then
        perform rota._raise_invalid('results', 'must have the length of ids');
    end if;

    with given as materialized (
        select g.*
        from unnest(ids, executions, results) as g (id, execution, result)
        order by g.id
    ),

    completed as (
        delete from rota.job as j
        using given as g
        where j.id = g.id and j.execution = g.execution and j.claimed_at is not null
        returning j.*, g.result
    ),

    archived as (
        insert into rota.archive (
            id, worker_id, run_at, created_at, claimed_at, finished_at, lane_id,
            attempt, max_attempts, execution, lost_count, state, kind, idempotency_key,
            payload, result
        )
        select
            c.id, c.worker_id, c.run_at, c.created_at, c.claimed_at, v_now,
            abs(c.lane_id), c.attempt, c.max_attempts, c.execution, c.lost_count,
            'completed', c.kind, c.idempotency_key, c.payload, c.result
        from completed as c
        where abs(c.lane_id) <> all (v_unarchived)
    ),

    tallied as (
        insert into rota.tally (queue_id, completed_count, cancelled_count)
        select
            l.queue_id,
            count(*),
            0
        from completed as c
        inner join rota.lane as l on l.id = abs(c.lane_id)
        where abs(c.lane_id) = any (v_unarchived)
        group by l.queue_id
    ),

    freed as (
        update rota.idempotency_key as ik
        set expires_at = v_now + coalesce(c.key_ttl, interval '0')
        from completed as c
        inner join rota.lane as l on l.id = abs(c.lane_id)
        where c.idempotency_key is not null
            and ik.queue_id = l.queue_id
            and ik.key = c.idempotency_key
            and ik.job_id = c.id
    )

    select coalesce(array_agg(c.id), '{}')
    into v_completed
    from completed as c;

    return query
    select u.id
    from unnest(v_completed) as u (id);
    if cardinality(v_completed) < cardinality(ids) then
        return query
        select r.id
        from rota._completed_before(ids, executions, v_completed) as r (id);
    end if;
end;
$$;
