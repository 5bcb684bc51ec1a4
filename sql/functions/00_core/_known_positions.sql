create or replace function rota._known_positions()
returns rota._position_state
language sql
stable
parallel safe
as $$
    select coalesce(
        nullif(pg_catalog.current_setting('rota.positions', true), ''), '(0,0,,,,,,,,0)'
    )::rota._position_state
$$;
