/* The only sender of notifications: one per queue and statement, the queue's name on
one fixed channel, and only when somebody sleeps, since commits that notify are
serialised by the whole server. Mostly nobody does, which one probe tells; those that
only saw each other there hardly meet again. */
create or replace function rota._wake_queues(p_queue_ids integer[])
returns void
language plpgsql
volatile
parallel unsafe
as $$
begin
    if rota._is_marked(0) then
        perform pg_notify('rota', q.name)
        from rota.queue as q
        where q.id = any (p_queue_ids)
            and q.is_notifying
            and q.paused_at is null
            and (rota._is_marked(-q.id) or rota._is_marked(2147483647));
    end if;
end;
$$;
