create or replace function rota._raise_worker_lost(p_worker_id bigint)
returns void
language plpgsql
stable
parallel safe
as $$
begin
    raise exception using
        errcode = 'RT007',
        message = 'worker lost or unknown',
        detail = format('worker %s', coalesce(p_worker_id::text, 'null')),
        hint = 'Call rota.register_worker for a new worker.';
end;
$$;
