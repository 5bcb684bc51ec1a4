/* Move jobs to the archive and return their ids, with those of the tokens that were
accepted before.

Fenced by execution and claimed_at only: a predicate on a column of another partial
index (worker_id, state) would invite the planner to walk that index with all its dead
entries. Rows are locked in the order of their ids, so batches cannot deadlock.

When the statistics were taken while few jobs were live, the planner reads all of the
primary key rather than look up each id; beside an open snapshot those are all the jobs
there ever were. So the ids are asked for by themselves, and merged in their order.

What only few jobs need, a tally or the end of a key, is done apart, since a part of
this statement would cost each call. The callers pin the other settings. */
create or replace function rota._complete(
    p_ids bigint[],
    p_executions integer[],
    p_results jsonb[]
)
returns bigint[]
language plpgsql
volatile
parallel unsafe
set enable_mergejoin = on
set enable_nestloop = off
as $$
declare
    v_now constant timestamptz := rota._now();
    v_unarchived constant integer[] := rota._unarchived_lanes();
    v_completed bigint[];
    v_tallied integer[];
    v_keyed bigint[];
    v_lane_ids integer[];
    v_keys text[];
    v_ttls interval[];
begin
    with given as materialized (
        select g.*
        from unnest(p_ids, p_executions, p_results) as g (id, execution, result)
        order by g.id
    ),

    completed as (
        delete from rota.job as j
        using given as g
        where j.id = any (p_ids)
            and j.id = g.id
            and j.execution = g.execution
            and j.claimed_at is not null
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
    )

    select
        coalesce(array_agg(c.id), '{}'),
        array_agg(abs(c.lane_id)) filter (where abs(c.lane_id) = any (v_unarchived)),
        array_agg(c.id) filter (where c.idempotency_key is not null),
        array_agg(c.lane_id) filter (where c.idempotency_key is not null),
        array_agg(c.idempotency_key) filter (where c.idempotency_key is not null),
        array_agg(c.key_ttl) filter (where c.idempotency_key is not null)
    into v_completed, v_tallied, v_keyed, v_lane_ids, v_keys, v_ttls
    from completed as c;

    if v_tallied is not null then
        perform rota._tally_completed(v_tallied);
    end if;
    if v_keyed is not null then
        perform rota._expire_keys(v_keyed, v_lane_ids, v_keys, v_ttls, v_now);
    end if;
    if cardinality(v_completed) < cardinality(p_ids) then
        v_completed := v_completed || array(
            select r.id
            from rota._completed_before(p_ids, p_executions, v_completed) as r (id)
        );
    end if;
    return v_completed;
end;
$$;
