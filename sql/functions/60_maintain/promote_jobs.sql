create or replace function rota.promote_jobs(max_jobs integer default 1000)
returns integer
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = on
set enable_nestloop = off
set jit = off
set plan_cache_mode = force_generic_plan
as $$
/* Merged with the table in the order of ids, as in _complete: a nested loop, planned
while few jobs were there, reads all of them, or the given ones once for each. */
declare
    v_now constant timestamptz := rota._now();
    v_floor constant timestamptz := rota._time_floor('due');
    v_ids bigint[];
    v_lanes integer[];
begin
    perform rota._check_positive('max_jobs', max_jobs);
    v_ids := array(
        select j.id
        from rota.job as j
        where j.state = 'scheduled' and j.run_at >= v_floor and j.run_at <= v_now
        order by j.run_at, j.id
        limit least(max_jobs, 10000)
        for update skip locked
    );
    if cardinality(v_ids) = 0 then
        perform rota._raise_time_floor('due', rota._next_due());
        return 0;
    end if;

    perform rota._enter_line();
    with placed as materialized (
        select
            u.id,
            nextval('rota.position_seq') as position
        from unnest(v_ids) as u (id)
    ),

    promoted as (
        update rota.job as j
        set state = 'queued', position = p.position
        from placed as p
        where j.id = any (v_ids) and j.id = p.id
        returning j.lane_id
    )

    select array_agg(distinct abs(p.lane_id))
    into v_lanes
    from promoted as p;

    perform rota._wake_queues(array(
        select distinct l.queue_id
        from rota.lane as l
        where l.id = any (v_lanes)
    ));
    return cardinality(v_ids);
end;
$$;
