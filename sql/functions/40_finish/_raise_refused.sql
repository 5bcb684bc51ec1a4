/* Why a token settles nothing. */
create or replace function rota._raise_refused(p_id bigint, p_execution integer)
returns void
language plpgsql
stable
parallel safe
as $$
declare
    v_job record;
    v_detail text;
begin
    select v.*
    into v_job
    from rota.jobs as v
    where v.id = p_id;

    if v_job.id is null then
        perform rota._raise_no_job(p_id);
    end if;
    v_detail := format(
        'job %s is %s with execution %s, asked for execution %s',
        p_id, v_job.state, v_job.execution, p_execution
    );
    if v_job.execution > 0 and (
        p_execution < v_job.execution
        or p_execution = v_job.execution and v_job.state in ('scheduled', 'queued')
    ) then
        raise exception using
            errcode = 'RT001',
            message = 'lease lost',
            detail = v_detail,
            hint = 'The job was handed to somebody else or back to its queue.';
    end if;
    raise exception using
        errcode = 'RT005',
        message = 'transition not allowed from this state',
        detail = v_detail;
end;
$$;
