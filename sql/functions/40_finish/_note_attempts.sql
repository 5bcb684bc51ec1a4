/* Merged in the order of ids, as in _judge_executions. */
create or replace function rota._note_attempts(
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
begin
    insert into rota.attempt (
        job_id, worker_id, started_at, finished_at, execution, attempt, outcome, error
    )
    select
        j.id, j.worker_id, j.claimed_at, p_now, j.execution, j.attempt, e.outcome,
        e.error
    from unnest(p_ended) as e
    inner join rota.job as j on j.id = e.id
    where j.id = any (array(select n.id from unnest(p_ended) as n));
end;
$$;
