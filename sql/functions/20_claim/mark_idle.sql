create or replace function rota.mark_idle(queues text[])
returns void
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
    perform rota._check_queues(queues);
    perform pg_advisory_lock_shared(rota._lock_class(), k.key)
    from rota._idle_keys(queues) as k (key);
end;
$$;
