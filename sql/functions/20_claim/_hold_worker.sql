/* Keeps the reaper away until this transaction ends. A key share lock makes no new row
version and lets heartbeats pass. */
create or replace function rota._hold_worker(p_worker_id bigint)
returns void
language plpgsql
volatile
parallel unsafe
as $$
begin
    perform
    from rota.worker as w
    where w.id = p_worker_id and w.lost_at is null and w.ended_at is null
    for key share;

    if not found then
        perform rota._raise_worker_lost(p_worker_id);
    end if;
end;
$$;
