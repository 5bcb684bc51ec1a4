/* Whoever takes a position owns a transaction id first, so that everybody else can tell
when the transaction that holds it is over (decision 2). */
create or replace function rota._next_position()
returns bigint
language sql
volatile
parallel unsafe
as $$
    select case
        when pg_catalog.pg_current_xact_id() is not null
            then pg_catalog.nextval('rota.position_seq')
    end
$$;
