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
declare
    v_count integer;
begin
    perform rota._check_positive('max_keys', max_keys);
    delete from rota.idempotency_key as ik
    where ik.ctid = any (array(
        select e.ctid
        from rota.idempotency_key as e
        where e.expires_at <= rota._now()
        order by e.expires_at
        limit max_keys
        for update skip locked
    ));
    get diagnostics v_count = row_count;
    return v_count;
end;
$$;
