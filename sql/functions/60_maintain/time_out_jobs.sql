create or replace function rota.time_out_jobs(max_jobs integer default 1000)
returns integer
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
    v_floor constant timestamptz := rota._time_floor('deadline');
    v_until constant timestamptz
        := rota._now() - (select s.timeout_grace from rota.setting as s);
    v_ids bigint[];
    v_executions integer[];
    v_count integer;
begin
    perform rota._check_positive('max_jobs', max_jobs);

    select
        coalesce(array_agg(l.id), '{}'),
        coalesce(array_agg(l.execution), '{}')
    into v_ids, v_executions
    from (
        select
            j.id,
            j.execution
        from rota.job as j
        where j.deadline_at >= v_floor and j.deadline_at <= v_until
        order by j.deadline_at
        limit least(max_jobs, 10000)
        for update skip locked
    ) as l;

    v_count := cardinality(v_ids);
    if v_count = 0 then
        perform rota._raise_time_floor('deadline', rota._first_deadline(v_floor));
    else
        perform rota._end_executions(
            v_ids, v_executions, array_fill('timed_out'::text, array[v_count]),
            array_fill('timed out, and its worker did not end it'::text, array[v_count])
        );
    end if;
    return v_count;
end;
$$;
