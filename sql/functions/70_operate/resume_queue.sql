create or replace function rota.resume_queue(queue text)
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
    set paused_at = null
    where q.id = v_queue_id and q.paused_at is not null;
    if not found then
        return false;
    end if;

    perform rota._wake_queues(array[v_queue_id]);
    return true;
end;
$$;
