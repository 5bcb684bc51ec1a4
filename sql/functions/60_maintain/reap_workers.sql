create or replace function rota.reap_workers(max_jobs integer default 1000)
returns rota.reaped
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
declare
    v_now constant timestamptz := rota._now();
    v_ids bigint[];
    v_executions integer[];
    v_reaped rota.reaped;
begin
    perform rota._check_positive('max_jobs', max_jobs);

    /* A worker that is claiming at this moment holds its row, and is skipped. */
    update rota.worker as w
    set lost_at = v_now
    where w.id = any (array(
        select e.id
        from rota.worker as e
        where e.lease_expires_at <= v_now and e.lost_at is null and e.ended_at is null
        for update skip locked
    ));
    get diagnostics v_reaped.worker_count = row_count;

    select
        coalesce(array_agg(l.id), '{}'),
        coalesce(array_agg(l.execution), '{}')
    into v_ids, v_executions
    from (
        select
            j.id,
            j.execution
        from rota.job as j
        where j.state = 'running'
            and j.worker_id = any (array(
                select w.id
                from rota.worker as w
                where w.lost_at is not null and w.ended_at is null
            ))
        order by j.worker_id, j.id
        limit least(max_jobs, 10000)
        for update of j skip locked
    ) as l;
    v_reaped.job_count := cardinality(v_ids);
    if v_reaped.job_count > 0 then
        perform rota._end_executions(
            v_ids, v_executions, array_fill('lost'::text, array[v_reaped.job_count]),
            array_fill('worker lost'::text, array[v_reaped.job_count])
        );
    end if;

    update rota.worker as w
    set ended_at = v_now
    where w.id = any (array(
        select e.id
        from rota.worker as e
        where e.lost_at is not null
            and e.ended_at is null
            and not rota._has_running_jobs(e.id)
        for no key update skip locked
    ));
    return v_reaped;
end;
$$;
