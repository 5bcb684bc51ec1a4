/* A dead job lives again under its id: no attempt charged, nothing lost, executions
counted on, so that old tokens stay void. */
create or replace function rota._revive_jobs(p_ids bigint[], p_patch jsonb)
returns setof rota.settled_job
language plpgsql
volatile
parallel unsafe
as $$
declare
    v_now timestamptz;
begin
    perform rota._enter_line();
    v_now := rota._now();
    return query
    with revived as (
        delete from rota.dead_letter as d
        where d.id = any (p_ids)
        returning d.*
    )

    insert into rota.job overriding system value
    select
        r.id,
        nextval('rota.position_seq'),
        null::bigint,
        v_now,
        r.created_at,
        null::timestamptz,
        null::timestamptz,
        null::timestamptz,
        r.timeout,
        r.key_ttl,
        r.lane_id,
        0,
        r.max_attempts,
        r.execution,
        0,
        r.retry_policy_id,
        'queued',
        r.kind,
        r.idempotency_key,
        null::text,
        case when p_patch is null then r.payload else r.payload || p_patch end
    from (select * from revived order by died_at, id) as r
    returning id, state, run_at;

    perform rota._wake_queues(array(
        select distinct l.queue_id
        from rota.job as j
        inner join rota.lane as l on l.id = j.lane_id
        where j.id = any (p_ids)
    ));
end;
$$;
