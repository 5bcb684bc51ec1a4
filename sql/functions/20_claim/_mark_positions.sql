/* At the end of a claim: the next mark, or the horizon of the mark of an earlier
transaction; then keep what is known. */
create or replace function rota._mark_positions(p_state rota._position_state)
returns void
language plpgsql
volatile
parallel unsafe
as $$
declare
    v_own constant xid8 := pg_current_xact_id_if_assigned();
    v_known text;
begin
    if v_own is not null then
        if p_state.mark is null then
            p_state.marked_at := rota._microseconds(rota._now());
            p_state.mark := rota._last_position();
            p_state.marked_by := v_own;
        elsif p_state.horizon is null and p_state.marked_by <> v_own then
            p_state.horizon := v_own;
        end if;
    end if;
    v_known := p_state::text;
    if v_known is distinct from current_setting('rota.positions', true) then
        v_known := set_config('rota.positions', v_known, false);
    end if;
end;
$$;
