/* Give a waiting job new content, as if it had just been enqueued under its old id.
False when its key was freed meanwhile, so that the caller looks again. */
create or replace function rota._replace_job(p_job rota.job, p_queue_id integer)
returns boolean
language plpgsql
volatile
parallel unsafe
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
begin
    update rota.job as j
    set lane_id = p_job.lane_id,
        kind = p_job.kind,
        payload = p_job.payload,
        run_at = p_job.run_at,
        state = p_job.state,
        position = p_job.position,
        attempt = 0,
        lost_count = 0,
        max_attempts = p_job.max_attempts,
        retry_policy_id = p_job.retry_policy_id,
        timeout = p_job.timeout,
        key_ttl = p_job.key_ttl
    where j.id = p_job.id and j.claimed_at is null;
    if found then
        return true;
    end if;

    if exists (
        select
        from rota.idempotency_key as ik
        where ik.queue_id = p_queue_id
            and ik.key = p_job.idempotency_key
            and ik.job_id = p_job.id
            and (ik.expires_at is null or ik.expires_at > rota._now())
    ) then
        raise exception using
            errcode = 'RT005',
            message = 'job cannot be replaced',
            detail = format('job %s is running or has ended', p_job.id),
            hint = 'Only a scheduled or queued job can be replaced.';
    end if;
    return false;
end;
$$;
