create or replace function rota._raise_duplicate(p_key text, p_job_id bigint)
returns void
language plpgsql
stable
parallel safe
as $$
begin
    raise exception using
        errcode = 'RT009',
        message = 'idempotency key in use',
        detail = format('key %s is held by job %s', quote_literal(p_key), p_job_id),
        hint = 'on_duplicate => ''keep'' returns that job instead.';
end;
$$;
