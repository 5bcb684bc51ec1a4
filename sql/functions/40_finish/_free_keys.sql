/* The keys of jobs that are about to leave: free now, or when their time to live ends.
Expired rows are deleted by maintain(). */
create or replace function rota._free_keys(p_ids bigint[], p_now timestamptz)
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
    update rota.idempotency_key as ik
    set expires_at = p_now + coalesce(j.key_ttl, interval '0')
    from rota.job as j
    inner join rota.lane as l on l.id = abs(j.lane_id)
    where j.id = any (p_ids)
        and j.idempotency_key is not null
        and ik.queue_id = l.queue_id
        and ik.key = j.idempotency_key
        and ik.job_id = j.id;
end;
$$;
