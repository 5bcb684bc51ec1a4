/* Merged in the order of ids, as in _judge_executions. */
create or replace function rota._bury_jobs(
    p_ended rota._ended_execution[],
    p_now timestamptz
)
returns void
language plpgsql
volatile
parallel unsafe
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = on
set enable_nestloop = off
set jit = off
as $$
declare
    v_ids constant bigint[] := array(select e.id from unnest(p_ended) as e);
begin
    perform rota._free_keys(v_ids, p_now);

    with buried as (
        delete from rota.job as j
        where j.id = any (v_ids)
        returning j.*
    )

    insert into rota.dead_letter (
        id, worker_id, run_at, created_at, claimed_at, died_at, timeout, key_ttl,
        lane_id, attempt, max_attempts, execution, lost_count, retry_policy_id, kind,
        idempotency_key, reason, error, payload
    )
    select
        b.id, b.worker_id, b.run_at, b.created_at, b.claimed_at, p_now, b.timeout,
        b.key_ttl, abs(b.lane_id), b.attempt - e.is_refunded::integer, b.max_attempts,
        b.execution, b.lost_count + (e.outcome = 'lost')::integer, b.retry_policy_id,
        b.kind, b.idempotency_key, e.verdict, e.error, b.payload
    from buried as b
    inner join unnest(p_ended) as e on e.id = b.id;
end;
$$;
