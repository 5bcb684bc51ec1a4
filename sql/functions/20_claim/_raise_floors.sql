/* The floor of each lane just looked at: its first queued position or the one after
what is settled, whichever is lower. Not for a few positions' sake, but when enough of
them were settled, or claimed by this session, since the last time, or others have
claimed so many that the first lane with work begins that far above its floor. */
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
    v_enough constant bigint := 64 + 4 * cardinality(p_lanes);
    v_floors bigint[] := rota._floors();
    v_lane rota._ready_lane;
    v_index integer;
    v_floor bigint;
begin
    if p_state.settled < p_state.floored + v_enough then
        foreach v_lane in array p_lanes loop
            exit when v_lane.first_position is not null;
        end loop;
        v_floor := coalesce(v_floors[rota._floor_index(v_lane.lane_id)], 0);
        if v_lane.first_position is null
            or least(v_lane.first_position, p_state.settled) < v_floor + v_enough
        then
            return p_state;
        end if;
    end if;

    foreach v_lane in array p_lanes loop
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
