/* Of these dead jobs, those that have no idempotency key or get it back. A job whose
key serves another job by now stays dead. */
create or replace function rota._retake_keys(p_ids bigint[])
returns bigint[]
language plpgsql
volatile
parallel unsafe
as $$
declare
    v_dead record;
    v_free bigint[] := '{}'::bigint[];
begin
    /* A loop in the order of the keys: each may wait for an enqueuer. A key that is
    taken is only read: "on conflict do update" locks the row also when it changes
    nothing, and the end of the job that has the key would wait for us. */
    for v_dead in
        select
            d.id,
            l.queue_id,
            d.idempotency_key
        from rota.dead_letter as d
        inner join rota.lane as l on l.id = d.lane_id
        where d.id = any (p_ids)
        order by d.idempotency_key, d.id
    loop
        if v_dead.idempotency_key is not null then
            update rota.idempotency_key as ik
            set job_id = v_dead.id, expires_at = null
            where ik.queue_id = v_dead.queue_id
                and ik.key = v_dead.idempotency_key
                and (ik.expires_at <= rota._now() or ik.job_id = v_dead.id);
            if not found then
                insert into rota.idempotency_key (queue_id, key, job_id)
                values (v_dead.queue_id, v_dead.idempotency_key, v_dead.id)
                on conflict (queue_id, key) do nothing;
                continue when not found;
            end if;
        end if;
        v_free := v_free || v_dead.id;
    end loop;
    return v_free;
end;
$$;
