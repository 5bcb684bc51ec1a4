create or replace function rota._living_worker(p_worker_id bigint)
returns rota.worker
language plpgsql
stable
parallel safe
as $$
declare
    v_worker rota.worker;
begin
    select w.*
    into v_worker
    from rota.worker as w
    where w.id = p_worker_id;

    if v_worker.id is null
        or v_worker.lost_at is not null
        or v_worker.ended_at is not null
    then
        perform rota._raise_worker_lost(p_worker_id);
    end if;
    return v_worker;
end;
$$;
