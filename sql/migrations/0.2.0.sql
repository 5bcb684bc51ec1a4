/* Workers say which version they run. */
alter table rota.worker add column version text;

/* The same promises, and indexes, in fewer words. */
alter table rota.job
drop constraint job_state_known,
drop constraint job_queued_has_position,
drop constraint job_running_is_held,
drop constraint job_attempt_in_range,
add constraint job_state_fits check (
    state = case
        when worker_id is not null then 'running'
        when position is not null then 'queued'
        else 'scheduled'
    end
) not valid,
add constraint job_running_is_held check (
    case
        when worker_id is null
            then coalesce(claimed_at, deadline_at, cancel_requested_at) is null
        else claimed_at is not null
    end
) not valid,
add constraint job_attempt_in_range check (
    attempt <= least(max_attempts, execution) and least(attempt, lost_count) >= 0
) not valid;
drop index rota.job_cancel_requested_idx;
drop index rota.job_running_idx;
create index job_running_idx on rota.job (worker_id, cancel_requested_at)
where state = 'running';
