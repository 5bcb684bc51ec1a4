create or replace function rota.pause_queue(queue text)
returns boolean
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_queue_id constant integer := (rota._find_queue(queue)).id;
begin
    update rota.queue as q
    set paused_at = rota._now()
    where q.id = v_queue_id and q.paused_at is null;
    return found;
end;
$$;
