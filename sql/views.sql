create or replace view rota.jobs as
select
    j.id,
    j.state,
    q.name as queue,
    l.priority,
    j.kind,
    j.payload,
    j.run_at,
    j.created_at,
    j.claimed_at,
    null::timestamptz as finished_at,
    j.deadline_at,
    j.attempt,
    j.max_attempts,
    j.execution,
    j.lost_count,
    j.worker_id,
    j.timeout,
    j.idempotency_key,
    j.cancel_requested_at,
    null::jsonb as result,
    j.cancel_reason as reason,
    null::text as error
from rota.job as j
inner join rota.lane as l on l.id = abs(j.lane_id)
inner join rota.queue as q on q.id = l.queue_id
union all
select
    a.id,
    a.state,
    q.name,
    l.priority,
    a.kind,
    a.payload,
    a.run_at,
    a.created_at,
    a.claimed_at,
    a.finished_at,
    null,
    a.attempt,
    a.max_attempts,
    a.execution,
    a.lost_count,
    a.worker_id,
    null,
    a.idempotency_key,
    null,
    a.result,
    a.reason,
    null
from rota.archive as a
inner join rota.lane as l on l.id = a.lane_id
inner join rota.queue as q on q.id = l.queue_id
union all
select
    d.id,
    'dead',
    q.name,
    l.priority,
    d.kind,
    d.payload,
    d.run_at,
    d.created_at,
    d.claimed_at,
    d.died_at,
    null,
    d.attempt,
    d.max_attempts,
    d.execution,
    d.lost_count,
    d.worker_id,
    d.timeout,
    d.idempotency_key,
    null,
    null,
    d.reason,
    d.error
from rota.dead_letter as d
inner join rota.lane as l on l.id = d.lane_id
inner join rota.queue as q on q.id = l.queue_id;

create or replace view rota.executions as
select
    a.job_id,
    a.execution,
    a.attempt,
    a.worker_id,
    a.started_at,
    a.finished_at,
    a.outcome,
    a.error
from rota.attempt as a
union all
select
    c.id,
    c.execution,
    c.attempt,
    c.worker_id,
    c.claimed_at,
    c.finished_at,
    'completed',
    null
from rota.archive as c
where c.state = 'completed'
union all
select
    j.id,
    j.execution,
    j.attempt,
    j.worker_id,
    j.claimed_at,
    null,
    'running',
    null
from rota.job as j
where j.state = 'running';

create or replace view rota.queue_stats as
with live as (
    select
        l.queue_id,
        count(*) filter (where j.state = 'scheduled') as scheduled_count,
        count(*) filter (where j.state = 'queued') as queued_count,
        count(*) filter (where j.state = 'running') as running_count,
        min(j.run_at) filter (where j.state <> 'running') as first_run_at
    from rota.job as j
    inner join rota.lane as l on l.id = abs(j.lane_id)
    group by l.queue_id
),

dead as (
    select
        l.queue_id,
        count(*) as dead_count
    from rota.dead_letter as d
    inner join rota.lane as l on l.id = d.lane_id
    group by l.queue_id
),

tallied as (
    select
        t.queue_id,
        sum(t.completed_count) as unarchived_completed_count,
        sum(t.cancelled_count) as unarchived_cancelled_count
    from rota.tally as t
    group by t.queue_id
)

select
    q.name as queue,
    q.paused_at,
    coalesce(live.scheduled_count, 0) as scheduled_count,
    coalesce(live.queued_count, 0) as queued_count,
    coalesce(live.running_count, 0) as running_count,
    coalesce(dead.dead_count, 0) as dead_count,
    greatest(clock_timestamp() - live.first_run_at, interval '0') as oldest_due_age,
    coalesce(tallied.unarchived_completed_count, 0)::bigint
        as unarchived_completed_count,
    coalesce(tallied.unarchived_cancelled_count, 0)::bigint
        as unarchived_cancelled_count
from rota.queue as q
left join live on live.queue_id = q.id
left join dead on dead.queue_id = q.id
left join tallied on tallied.queue_id = q.id;

create or replace view rota.worker_status as
select
    w.id,
    w.name,
    case
        when w.lost_at is not null then 'lost'
        when w.ended_at is not null then 'ended'
        when w.lease_expires_at <= clock_timestamp() then 'expired'
        else 'alive'
    end as state,
    w.registered_at,
    w.heartbeat_at,
    w.lease_expires_at,
    w.lease,
    w.lost_at,
    w.ended_at,
    (
        select count(*)
        from rota.job as j
        where j.worker_id = w.id and j.state = 'running'
    ) as running_count,
    w.version
from rota.worker as w;

create or replace view rota.dead_letters as
select
    d.id,
    q.name as queue,
    l.priority,
    d.kind,
    d.payload,
    d.reason,
    d.error,
    d.attempt,
    d.max_attempts,
    d.execution,
    d.lost_count,
    d.created_at,
    d.died_at,
    d.idempotency_key
from rota.dead_letter as d
inner join rota.lane as l on l.id = d.lane_id
inner join rota.queue as q on q.id = l.queue_id;

create or replace view rota.queue_settings as
select
    q.name as queue,
    q.max_attempts,
    rp.name as retry_policy,
    q.timeout,
    q.max_lost,
    q.max_payload_bytes,
    q.retention,
    q.is_notifying,
    q.created_at
from rota.queue as q
inner join rota.retry_policy as rp on rp.id = q.retry_policy_id;

create or replace view rota.retry_policies as
select
    rp.name as policy,
    rp.strategy,
    rp.base,
    rp.factor,
    rp.cap,
    rp.delays,
    rp.jitter,
    rp.jitter_fraction
from rota.retry_policy as rp;

create or replace view rota.settings as
select
    s.retention,
    s.worker_retention,
    s.timeout_grace
from rota.setting as s;

create or replace view rota.schedule_status as
select
    s.name as schedule,
    s.expression,
    s.timezone,
    s.kind,
    q.name as queue,
    case
        when s.paused_at is not null then 'paused'
        when s.broken_at is not null then 'broken'
        else 'active'
    end as state,
    s.next_fires,
    s.last_due_at,
    s.last_fired_at,
    s.last_job_id,
    case
        when s.last_job_id is null then null
        else coalesce(
            j.state,
            a.state,
            case when d.id is not null then 'dead' end,
            'gone'
        )
    end as last_outcome,
    s.missed_count,
    s.overlapped_count,
    s.paused_at,
    s.pause_reason,
    s.broken_at,
    s.error,
    s.gap,
    s.repeat,
    s.missed,
    s.max_missed,
    s.max_age,
    s.overlap,
    s.payload,
    s.priority,
    s.max_attempts,
    rp.name as retry_policy,
    s.timeout,
    s.created_at
from rota.schedule as s
inner join rota.queue as q on q.id = s.queue_id
left join rota.retry_policy as rp on rp.id = s.retry_policy_id
left join rota.job as j on j.id = s.last_job_id
left join rota.archive as a
    on a.id = s.last_job_id and a.finished_at >= s.last_fired_at
left join rota.dead_letter as d on d.id = s.last_job_id;
