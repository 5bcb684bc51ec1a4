create or replace function rota.purge_keys(max_keys integer default 1000)
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
/* Whoever ends a job late may write an instant below the floor: that key is deleted
within a minute, when the floor is forgotten, and was free all the same. */
declare
    v_floor constant timestamptz := rota._time_floor('key');
    v_count integer;
begin
    perform rota._check_positive('max_keys', max_keys);
    delete from rota.idempotency_key as ik
    where ik.ctid = any (array(
        select e.ctid
        from rota.idempotency_key as e
        where e.expires_at >= v_floor and e.expires_at <= rota._now()
        order by e.expires_at
        limit max_keys
        for update skip locked
    ));
    get diagnostics v_count = row_count;
    if v_count < max_keys then
        perform rota._raise_time_floor('key', null);
    end if;
    return v_count;
end;
$$;
