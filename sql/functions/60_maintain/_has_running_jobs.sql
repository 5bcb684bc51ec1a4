/* A function of its own, lest the planner join workers with all running jobs: to it few
run, but beside an open snapshot their index holds every job that ever ran. */
create or replace function rota._has_running_jobs(p_worker_id bigint)
returns boolean
language plpgsql
stable
parallel safe
as $$
begin
    return exists (
        select
        from rota.job as j
        where j.worker_id = p_worker_id and j.state = 'running'
    );
end;
$$;
