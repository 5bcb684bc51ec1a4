/* Renew the lease of a worker that was alive a moment ago, unless it was renewed within
the last p_spacing: a row version for every call would pile up under an open
snapshot. */
create or replace function rota._beat(p_worker rota.worker, p_spacing interval)
returns void
language plpgsql
volatile
parallel unsafe
as $$
declare
    v_now constant timestamptz := rota._now();
begin
    if p_worker.heartbeat_at > v_now - p_spacing then
        return;
    end if;

    update rota.worker as w
    set heartbeat_at = v_now, lease_expires_at = v_now + w.lease
    where w.id = p_worker.id and w.lost_at is null and w.ended_at is null;
    if not found then
        perform rota._raise_worker_lost(p_worker.id);
    end if;
end;
$$;
