/* Before a transaction takes its first position it owns a transaction id and shares one
lock until it ends. By these the others can tell when everybody who could hold a
position below some mark is gone (_settle_positions), and whether an enqueuer is under
way (enqueuers_in_flight). In a form that is inlined; case keeps the order. */
create or replace function rota._enter_line()
returns void
language sql
volatile
parallel unsafe
as $$
    select case
        when pg_catalog.pg_current_xact_id() is not null
            then pg_catalog.pg_advisory_xact_lock_shared(rota._lock_class(), 1)
    end
$$;
