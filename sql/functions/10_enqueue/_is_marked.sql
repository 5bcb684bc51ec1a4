/* Whether an idle runner has left this mark, a lock that it shares (_idle_keys): a
probe that gets the lock, and gives it back at once, has found nobody. Two probes at one
moment may see each other, so whoever saw the mark 0 looks for a narrower one. The
caller has entered the line, so that a runner about to sleep can see it coming
(enqueuers_in_flight). */
create or replace function rota._is_marked(p_object integer)
returns boolean
language sql
volatile
parallel unsafe
as $$
    select case
        when pg_catalog.pg_try_advisory_lock(rota._lock_class(), p_object)
            then not pg_catalog.pg_advisory_unlock(rota._lock_class(), p_object)
        else true
    end
$$;
