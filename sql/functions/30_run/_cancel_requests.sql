/* What this worker was asked to cancel and still runs. Those that ended long since, all
there beside an open snapshot, lie below a floor of their own, raised once a second. */
create or replace function rota._cancel_requests(p_worker_id bigint)
returns setof rota.job_ref
language plpgsql
volatile
parallel unsafe
as $$
declare
    v_name constant text := 'cancel_' || p_worker_id;
    v_floor constant timestamptz := rota._time_floor(v_name);
begin
    return query
    select
        j.id,
        j.execution
    from rota.job as j
    where j.worker_id = p_worker_id
        and j.state = 'running'
        and j.cancel_requested_at >= v_floor
    order by j.id;

    if v_floor < rota._now() - interval '1 second' then
        perform rota._raise_time_floor(v_name, (
            select min(j.cancel_requested_at)
            from rota.job as j
            where j.worker_id = p_worker_id
                and j.state = 'running'
                and j.cancel_requested_at >= v_floor
        ));
    end if;
end;
$$;
