/* Store p_job under its idempotency key, or settle with the job that has the key.
p_locked: the jobs that may be replaced, being locked in their order; null: any. Another
one is an error of our own, RTX01, which does not leave _enqueue_keyed_jobs. */
create or replace function rota._enqueue_keyed(
    p_job rota.job,
    p_queue_id integer,
    p_on_duplicate text,
    p_locked bigint[] default null
)
returns rota.enqueued_job
language plpgsql
volatile
parallel unsafe
as $$
declare
    v_held rota.enqueued_job;
begin
    loop
        v_held := rota._reserve_key(p_queue_id, p_job.idempotency_key);
        p_job.id := v_held.id;

        if v_held.is_new then
            insert into rota.job overriding system value
            select p_job.*;
            return v_held;
        elsif p_on_duplicate = 'reject' then
            perform rota._raise_duplicate(p_job.idempotency_key, v_held.id);
        elsif p_on_duplicate = 'replace' and v_held.id <> all (p_locked) then
            raise exception using
                errcode = 'RTX01',
                message = 'job to be replaced is not locked';
        elsif p_on_duplicate = 'keep' or rota._replace_job(p_job, p_queue_id) then
            return v_held;
        end if;
    end loop;
end;
$$;
