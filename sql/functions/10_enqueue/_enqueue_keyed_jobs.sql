/* One by one in the order of the keys, since each may wait for another transaction:
two batches that share keys queue up instead of deadlocking. What there is to replace
comes after that, since the jobs are locked in their own order. Positions are drawn
before all, in the order given. */
create or replace function rota._enqueue_keyed_jobs(
    p_queue_id integer,
    p_lane_id integer,
    p_now timestamptz,
    p_kinds text[],
    p_payloads jsonb[],
    p_priorities integer[],
    p_run_ats timestamptz[],
    p_delays interval[],
    p_keys text[],
    p_on_duplicate text,
    p_key_ttl interval,
    p_max_attempts integer,
    p_retry_policy_id integer,
    p_timeout interval
)
returns setof rota.enqueued_job
language plpgsql
volatile
parallel unsafe
as $$
declare
    v_row record;
    v_job rota.job;
    v_number integer;
    v_stored rota.enqueued_job[];
    v_rivals rota.job[] := '{}'::rota.job[];
    v_numbers integer[] := '{}'::integer[];
    v_first_rule constant text
        := case p_on_duplicate when 'replace' then 'keep' else p_on_duplicate end;
begin
    for v_row in
        with given as materialized (
            select
                g as job,
                case g.state when 'queued' then nextval('rota.position_seq') end
                    as position
            from rota._given_jobs(
                p_queue_id, p_lane_id, p_now, p_kinds, p_payloads, p_priorities,
                p_run_ats, p_delays, p_keys, p_key_ttl, p_max_attempts,
                p_retry_policy_id, p_timeout
            ) as g
        )

        select
            g.job,
            g.position
        from given as g
        order by (g.job).idempotency_key, (g.job).id
    loop
        v_job := v_row.job;
        v_job.position := v_row.position;
        if v_job.idempotency_key is null then
            v_job.id := nextval('rota.job_id_seq');
            insert into rota.job overriding system value
            select v_job.*;
            v_stored[(v_row.job).id] := row(v_job.id, true)::rota.enqueued_job;
        else
            v_number := (v_row.job).id;
            v_stored[v_number] := rota._enqueue_keyed(v_job, p_queue_id, v_first_rule);
            if p_on_duplicate = 'replace' and not v_stored[v_number].is_new then
                v_rivals := v_rivals || v_job;
                v_numbers := v_numbers || v_number;
            end if;
        end if;
    end loop;

    if cardinality(v_numbers) > 0 then
        perform rota._lock_jobs(array(
            select v_stored[u.number].id
            from unnest(v_numbers) as u (number)
        ));
    end if;
    for i in 1 .. cardinality(v_numbers) loop
        v_stored[v_numbers[i]]
            := rota._enqueue_keyed(v_rivals[i], p_queue_id, p_on_duplicate);
    end loop;

    return query
    select
        s.id,
        s.is_new
    from unnest(v_stored) as s;
end;
$$;
