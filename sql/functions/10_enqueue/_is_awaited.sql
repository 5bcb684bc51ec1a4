/* Whether a runner of this queue sleeps. A sleeper shares the lock 0 and the lock of each
of its queues (_idle_keys); a probe that gets a lock, and gives it back at once, has
found nobody there. Mostly nobody sleeps at all, which the first probe tells. Two probes
at one moment may see each other, but those are sent on to the second lock: it takes
three to wake a queue for nothing, and no sleeper is ever missed. The caller has entered
the line, so that a runner about to sleep can see it coming (enqueuers_in_flight). */
create or replace function rota._is_awaited(p_queue_id integer)
returns boolean
language sql
volatile
parallel unsafe
as $$
    select case
        when pg_catalog.pg_try_advisory_lock(rota._lock_class(), 0)
            then not pg_catalog.pg_advisory_unlock(rota._lock_class(), 0)
        when not pg_catalog.pg_try_advisory_lock(rota._lock_class(), -p_queue_id)
            then true
        when pg_catalog.pg_advisory_unlock(rota._lock_class(), -p_queue_id)
            and pg_catalog.pg_try_advisory_lock(rota._lock_class(), 2147483647)
            then not pg_catalog.pg_advisory_unlock(rota._lock_class(), 2147483647)
        else true
    end
$$;
