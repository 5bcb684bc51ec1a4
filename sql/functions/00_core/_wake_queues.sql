create or replace function rota._wake_queues(p_queue_ids integer[])
returns void
language plpgsql
volatile
parallel unsafe
as $$
begin
    perform rota._wake(q)
    from rota.queue as q
    where q.id = any (p_queue_ids);
end;
$$;
