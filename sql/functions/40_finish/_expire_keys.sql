/* The keys of jobs that have left: free now, or when their time to live ends. Expired
rows are deleted by maintain(). */
create or replace function rota._expire_keys(
    p_job_ids bigint[],
    p_lane_ids integer[],
    p_keys text[],
    p_ttls interval[],
    p_now timestamptz
)
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
    set expires_at = p_now + coalesce(g.ttl, interval '0')
    from unnest(p_job_ids, p_lane_ids, p_keys, p_ttls) as g (job_id, lane_id, key, ttl)
    inner join rota.lane as l on l.id = abs(g.lane_id)
    where ik.queue_id = l.queue_id and ik.key = g.key and ik.job_id = g.job_id;
end;
$$;
