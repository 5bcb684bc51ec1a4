create or replace function rota.cancel_job(id bigint, reason text default null)
returns rota.settled_job
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_settled rota.settled_job;
    v_state text;
begin
    select s.*
    into v_settled
    from rota.cancel_jobs(array[id], reason) as s;
    if found then
        return v_settled;
    end if;

    select v.state
    into v_state
    from rota.jobs as v
    where v.id = cancel_job.id;
    if v_state is null then
        perform rota._raise_no_job(id);
    end if;
    raise exception using
        errcode = 'RT005',
        message = 'transition not allowed from this state',
        detail = format('job %s is %s', id, v_state);
end;
$$;
