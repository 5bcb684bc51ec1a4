/* The floor of each lane just looked at: its first queued position, or the settled one,
whichever is lower. Not for a few positions' sake. */
create or replace function rota._raise_floors(
    p_lanes rota._ready_lane[],
    p_state rota._position_state
)
returns rota._position_state
language plpgsql
volatile
parallel unsafe
as $$
declare
    v_settled constant bigint := p_state.settled;
    v_floors bigint[];
    v_lane rota._ready_lane;
begin
    if v_settled < p_state.floored + 64 + 4 * cardinality(p_lanes) then
        return p_state;
    end if;

    v_floors := rota._floors();
    foreach v_lane in array p_lanes loop
        v_floors[2 * abs(v_lane.lane_id) + (v_lane.lane_id < 0)::integer]
            := least(v_lane.first_position, v_settled + 1);
    end loop;
    perform set_config('rota.floors', v_floors::text, false);
    p_state.floored := v_settled;
    return p_state;
end;
$$;
