/* One notification per queue and statement, the queue's name on one fixed channel, and
only when somebody sleeps, since commits that notify are serialised by the whole server.
enqueue does the same for its one queue, which it has read already. */
create or replace function rota._wake_queues(p_queue_ids integer[])
returns void
language plpgsql
volatile
parallel unsafe
as $$
begin
    perform pg_notify('rota', q.name)
    from rota.queue as q
    where q.id = any (p_queue_ids)
        and q.is_notifying
        and q.paused_at is null
        and rota._is_awaited(q.id);
end;
$$;
