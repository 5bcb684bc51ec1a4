/* The highest position below which nothing can appear any more.

While a snapshot stays open somewhere, index entries of claimed jobs cannot be removed,
and a claim that starts at the left end wades through all of them. A floor spares it
that, but only an exact one starves nobody. A session keeps what it knows in a setting:
a fact about the database, harmless when lost (DISCARD ALL) or shared (a pooler).

A mark is the last position handed out at some moment. Whoever takes a position owned a
transaction id before. So when this session, in a later transaction, gets an id of its
own, every holder of a position up to the mark has a lower one: that id is the horizon,
and the mark is settled once no lower id is running. (The upper end of a snapshot would
not do: it is the last *completed* id plus one, and ids above it may be running.)

One long transaction that writes holds that back, though it enqueues nothing. So when
the mark has waited for 200 ms, note who shares the line lock right after a second mark:
that one is settled once they are gone. */
create or replace function rota._settle_positions()
returns rota._position_state
language plpgsql
volatile
parallel unsafe
as $$
declare
    v_state rota._position_state := rota._known_positions();
    v_now constant bigint := rota._microseconds(rota._now());
begin
    if v_state.mark is null
        or current_setting('transaction_isolation') <> 'read committed'
    then
        return v_state;
    elsif pg_snapshot_xmin(pg_current_snapshot()) >= v_state.horizon then
        v_state.settled := v_state.mark;
        v_state.settled_at := v_state.marked_at;
        v_state.mark := null;
        v_state.horizon := null;
        v_state.held_mark := null;
    elsif v_state.held_mark is null and v_state.marked_at < v_now - 200000 then
        v_state.held_mark := rota._last_position();
        v_state.held_at := v_now;
        v_state.holders := rota._line_holders();
    elsif v_state.held_mark is not null
        and v_state.held_at < v_now - 100000
        and not v_state.holders && rota._line_holders()
    then
        v_state.settled := v_state.held_mark;
        v_state.settled_at := v_state.held_at;
        v_state.held_mark := null;
    end if;
    return v_state;
end;
$$;
