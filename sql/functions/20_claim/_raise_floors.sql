/* The floor of each lane: its first queued position or the one after what is settled,
whichever is lower. All lanes are looked at for that, so not for a few positions' sake,
but when enough of them were settled, or claimed by this session, since the last time,
or others have claimed so many that the first lane with work, p_lane_id, begins that far
above its floor. */
create or replace function rota._raise_floors(
    p_queues text[],
    p_floors bigint[],
    p_state rota._position_state,
    p_lane_id integer,
    p_first_position bigint
)
returns rota._position_state
language plpgsql
volatile
parallel unsafe
as $$
declare
    v_enough constant bigint := 64 + 4 * cardinality(p_floors);
    v_floors bigint[] := p_floors;
    v_lane rota._ready_lane;
    v_index integer;
begin
    if p_state.settled < p_state.floored + v_enough
        and (
            p_lane_id is null
            or least(p_first_position, p_state.settled)
            < coalesce(p_floors[rota._floor_index(p_lane_id)], 0) + v_enough
        )
    then
        return p_state;
    end if;

    foreach v_lane in array rota._first_positions(p_queues, p_floors) loop
        v_index := rota._floor_index(v_lane.lane_id);
        v_floors[v_index] := greatest(
            v_floors[v_index], least(v_lane.first_position, p_state.settled + 1)
        );
    end loop;
    perform set_config('rota.floors', v_floors::text, false);
    p_state.floored := p_state.settled;
    return p_state;
end;
$$;
