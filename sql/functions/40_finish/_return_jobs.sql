/* Back to waiting, in the order they had. What was handed back unrun goes to the front
lane of its priority. Merged in the order of ids, as in _judge_executions. */
create or replace function rota._return_jobs(
    p_ended rota._ended_execution[],
    p_now timestamptz
)
returns setof rota.settled_job
language plpgsql
volatile
parallel unsafe
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = on
set enable_nestloop = off
set jit = off
set plan_cache_mode = force_generic_plan
as $$
declare
    v_ids constant bigint[] := array(select e.id from unnest(p_ended) as e);
begin
    return query
    with placed as materialized (
        select
            o.*,
            case
                when o.run_at <= p_now then nextval('rota.position_seq')
            end as position
        from (
            select e.*
            from unnest(p_ended) as e
            inner join rota.job as j on j.id = e.id
            where j.id = any (v_ids)
            order by j.position
        ) as o
    )

    update rota.job as j
    set state = case when p.position is null then 'scheduled' else 'queued' end,
        position = p.position,
        run_at = p.run_at,
        lane_id = case
            when p.outcome in ('released', 'lost') then -abs(j.lane_id)
            else abs(j.lane_id)
        end,
        worker_id = null,
        claimed_at = null,
        deadline_at = null,
        attempt = j.attempt - p.is_refunded::integer,
        lost_count = j.lost_count + (p.outcome = 'lost')::integer
    from placed as p
    where j.id = any (v_ids) and j.id = p.id
    returning j.id, j.state, j.run_at;
end;
$$;
