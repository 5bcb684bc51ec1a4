/* The jobs are locked by the caller. */
create or replace function rota._archive_cancelled(
    p_ids bigint[],
    p_reason text,
    p_now timestamptz
)
returns void
language plpgsql
volatile
parallel unsafe
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
declare
    v_unarchived constant integer[] := rota._unarchived_lanes();
begin
    perform rota._free_keys(p_ids, p_now);

    with cancelled as (
        delete from rota.job as j
        where j.id = any (p_ids)
        returning j.*
    ),

    archived as (
        insert into rota.archive (
            id, worker_id, run_at, created_at, claimed_at, finished_at, lane_id,
            attempt, max_attempts, execution, lost_count, state, kind, idempotency_key,
            reason, payload
        )
        select
            c.id, c.worker_id, c.run_at, c.created_at, c.claimed_at, p_now,
            abs(c.lane_id), c.attempt, c.max_attempts, c.execution, c.lost_count,
            'cancelled', c.kind, c.idempotency_key, coalesce(c.cancel_reason, p_reason),
            c.payload
        from cancelled as c
        where abs(c.lane_id) <> all (v_unarchived)
    )

    insert into rota.tally (queue_id, completed_count, cancelled_count)
    select
        l.queue_id,
        0,
        count(*)
    from cancelled as c
    inner join rota.lane as l on l.id = abs(c.lane_id)
    where abs(c.lane_id) = any (v_unarchived)
    group by l.queue_id;
end;
$$;
