create or replace function rota._cancel_requests(p_worker_id bigint)
returns setof rota.job_ref
language plpgsql
stable
parallel safe
as $$
begin
    return query
    select
        j.id,
        j.execution
    from rota.job as j
    where j.worker_id = p_worker_id
        and j.state = 'running'
        and j.cancel_requested_at is not null
    order by j.id;
end;
$$;
