/* For whoever goes on to lock these jobs in another order: every statement that locks
several jobs and waits for them does so in the order of their ids, so that none can
deadlock. */
create or replace function rota._lock_jobs(p_ids bigint[])
returns void
language plpgsql
volatile
parallel unsafe
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
begin
    perform
    from rota.job as j
    where j.id = any (p_ids)
    order by j.id
    for update;
end;
$$;
