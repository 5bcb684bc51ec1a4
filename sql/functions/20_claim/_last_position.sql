/* Of all that were ever handed out; 0 before the first. */
create or replace function rota._last_position()
returns bigint
language sql
volatile
parallel unsafe
as $$
    select coalesce(pg_catalog.pg_sequence_last_value('rota.position_seq'), 0)
$$;
