/* The only sender of notifications: one per queue and statement, the queue's name on
one fixed channel, and only when somebody sleeps, since commits that notify are
serialised by the whole server. A sleeping runner shares an advisory lock; a probe that
gets the lock, and gives it back at once, has found nobody. Two probes at one moment may
see each other: a notification too many, never one too few. The caller has entered the
line, so that a runner about to sleep can see it coming (enqueuers_in_flight). */
create or replace function rota._wake(p_queue rota.queue)
returns void
language plpgsql
volatile
parallel unsafe
as $$
declare
    v_class constant integer := rota._lock_class();
begin
    if not p_queue.is_notifying or p_queue.paused_at is not null then
        return;
    elsif pg_try_advisory_lock(v_class, 0) then
        perform pg_advisory_unlock(v_class, 0);
        if pg_try_advisory_lock(v_class, -p_queue.id) then
            perform pg_advisory_unlock(v_class, -p_queue.id);
            return;
        end if;
    end if;
    perform pg_notify('rota', p_queue.name);
end;
$$;
