create or replace function rota.cancel_jobs(ids bigint[], reason text default null)
returns setof rota.settled_job
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
    v_now timestamptz;
    v_locked bigint[];
    v_running bigint[];
begin
    if ids is null or num_nulls(variadic ids) > 0 then
        perform rota._raise_invalid('ids', 'must not be or contain null');
    end if;

    perform rota._enter_line();
    v_now := rota._now();
    select
        coalesce(array_agg(l.id), '{}'),
        coalesce(array_agg(l.id) filter (where l.state = 'running'), '{}')
    into v_locked, v_running
    from (
        select
            j.id,
            j.state
        from rota.job as j
        where j.id = any (ids)
        order by j.id
        for update
    ) as l;

    return query
    update rota.job as j
    set cancel_requested_at = coalesce(j.cancel_requested_at, v_now),
        cancel_reason = coalesce(j.cancel_reason, left(reason, 2000))
    where j.id = any (v_running)
    returning j.id, j.state, null::timestamptz;

    perform rota._archive_cancelled(
        array(
            select l.id from unnest(v_locked) as l (id) where l.id <> all (v_running)
        ),
        left(reason, 2000),
        v_now
    );
    return query
    select
        l.id,
        'cancelled',
        null::timestamptz
    from unnest(v_locked) as l (id)
    where l.id <> all (v_running);
end;
$$;
