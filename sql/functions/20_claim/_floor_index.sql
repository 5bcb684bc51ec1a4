/* Where a lane's floor stands among a session's floors; a front lane is negative. */
create or replace function rota._floor_index(p_lane_id integer)
returns integer
language sql
immutable
parallel safe
as $$
    select 2 * pg_catalog.abs(p_lane_id) + (p_lane_id < 0)::pg_catalog.int4
$$;
