/* A settlement sent twice is answered with the state the job is in now. The limit keeps
the view from being joined as a whole, history and all. */
create or replace function rota._ended_before(
    p_ids bigint[],
    p_executions integer[],
    p_outcomes text[],
    p_known rota._ended_execution[]
)
returns setof rota.settled_job
language plpgsql
stable
parallel safe
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
begin
    return query
    select
        v.id,
        v.state,
        v.run_at
    from unnest(p_ids, p_executions, p_outcomes) as g (id, execution, outcome)
    inner join rota.attempt as a on a.job_id = g.id and a.execution = g.execution
    cross join lateral (
        select
            o.id,
            o.state,
            o.run_at
        from rota.jobs as o
        where o.id = g.id
        limit 1
    ) as v
    where a.outcome in (g.outcome, 'cancelled')
        and not exists (select from unnest(p_known) as k where k.id = g.id);
end;
$$;
