/* The only sender of notifications: one per queue and statement, the queue's name on
one fixed channel. A hint: workers poll too. Commits that notify are serialised by the
server, so a queue can switch it off. */
create or replace function rota._wake(p_queue_ids integer[])
returns void
language plpgsql
volatile
parallel unsafe
as $$
begin
    perform pg_notify('rota', q.name)
    from rota.queue as q
    where q.id = any(p_queue_ids) and q.is_notifying and q.paused_at is null;
end;
$$;
