/* A settlement sent twice is answered with the state the job is in now. */
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
as $$
begin
    return query
    select
        v.id,
        v.state,
        v.run_at
    from unnest(p_ids, p_executions, p_outcomes) as g (id, execution, outcome)
    inner join rota.attempt as a on a.job_id = g.id and a.execution = g.execution
    inner join rota.jobs as v on v.id = g.id
    where a.outcome in (g.outcome, 'cancelled')
        and not exists (select from unnest(p_known) as k where k.id = g.id);
end;
$$;
