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
    v_first timestamptz;
    v_requests rota.job_ref[];
begin
    select
        array_agg(row(j.id, j.execution)::rota.job_ref order by j.id),
        min(j.cancel_requested_at)
    into v_requests, v_first
    from rota.job as j
    where j.worker_id = p_worker_id
        and j.state = 'running'
        and j.cancel_requested_at >= v_floor;

    if v_floor < rota._now() - interval '1 second' then
        perform rota._raise_time_floor(v_name, v_first);
    end if;
    return query
    select r.*
    from unnest(v_requests) as r;
end;
$$;
