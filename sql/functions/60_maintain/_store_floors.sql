/* Where new sessions start. Rarely, since each time makes a row version. */
create or replace function rota._store_floors()
returns void
language plpgsql
volatile
parallel unsafe
as $$
declare
    v_floors constant bigint[] := rota._floors();
begin
    update rota.lane as l
    set floor = greatest(l.floor, v_floors[2 * l.id]),
        front_floor = greatest(l.front_floor, v_floors[2 * l.id + 1])
    where v_floors[2 * l.id] > l.floor + 1000
        or v_floors[2 * l.id + 1] > l.front_floor + 1000;
end;
$$;
