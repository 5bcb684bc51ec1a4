create or replace function rota._raise_no_job(p_id bigint)
returns void
language plpgsql
stable
parallel safe
as $$
begin
    raise exception using
        errcode = 'RT002',
        message = 'no such job',
        detail = format('job %s', coalesce(p_id::text, 'null'));
end;
$$;
