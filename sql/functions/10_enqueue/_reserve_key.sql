/* The job that holds the key; is_new when the key was free and now belongs to a new id.
The row is read, not locked: an enqueuer with a long transaction must not hold up the
end of the job. Whoever wants a free key waits for a rival's transaction, and looks
again if the rival won, rolled back, or its job has ended meanwhile. */
create or replace function rota._reserve_key(p_queue_id integer, p_key text)
returns rota.enqueued_job
language plpgsql
volatile
parallel unsafe
as $$
declare
    v_held rota.idempotency_key;
    v_id bigint;
begin
    loop
        select ik.*
        into v_held
        from rota.idempotency_key as ik
        where ik.queue_id = p_queue_id and ik.key = p_key;

        if v_held.expires_at is null and v_held.job_id is not null
            or v_held.expires_at > rota._now()
        then
            return row(v_held.job_id, false)::rota.enqueued_job;
        end if;

        v_id := nextval('rota.job_id_seq');
        if v_held.job_id is null then
            insert into rota.idempotency_key (queue_id, key, job_id)
            values (p_queue_id, p_key, v_id)
            on conflict (queue_id, key) do nothing;
            if found then
                return row(v_id, true)::rota.enqueued_job;
            end if;
        else
            /* An update that finds its row changed by a rival has locked it all the
            same, and the end of the rival's job would wait for us. The subtransaction
            gives the lock back. */
            begin
                update rota.idempotency_key as ik
                set job_id = v_id, expires_at = null
                where ik.queue_id = p_queue_id
                    and ik.key = p_key
                    and ik.job_id = v_held.job_id
                returning ik.job_id into strict v_id;
                return row(v_id, true)::rota.enqueued_job;
            exception
                when no_data_found then
                    null;
            end;
        end if;
    end loop;
end;
$$;
