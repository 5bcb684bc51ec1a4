/* What must hold at any moment, whatever happened before: each row is a violation.

One statement, so that it sees one moment even while others work. Floors are the
database's and those of the session that asks. Used by test_invariants.sql (as the view
tap.violations) and by tests/py/invariants.py. */
with place as (
    select j.id from rota.job as j
    union all
    select a.id from rota.archive as a
    union all
    select d.id from rota.dead_letter as d
),

execution as (
    select
        x.*,
        lag(x.finished_at) over (
            partition by x.job_id
            order by x.execution
        ) as ended_before
    from rota.executions as x
),

/* Executions are numbered from 1 without gaps; history beyond the retention may be
gone, but only from its old end. */
history as (
    select
        v.id,
        v.state,
        v.attempt,
        v.execution,
        count(x.execution) as known,
        count(distinct x.execution) as distinct_known,
        coalesce(min(x.execution), v.execution + 1) as first,
        coalesce(max(x.execution), v.execution) as last,
        count(*) filter (
            where x.outcome in ('failed', 'timed_out', 'completed', 'running')
        ) as charged,
        v.created_at >= rota._now() - (
            select least(s.retention, '1 day') from rota.setting as s
        ) as is_whole
    from rota.jobs as v
    left join rota.executions as x on x.job_id = v.id
    group by v.id, v.state, v.attempt, v.execution, v.created_at
),

violation as (
    select 'a job is in one place' as invariant, 'job ' || p.id as subject
    from place as p
    group by p.id
    having count(*) > 1
    union all
    select 'every job is shown by the view jobs, once', 'job ' || coalesce(p.id, v.id)
    from (select p.id, count(*) from place as p group by p.id) as p
    full join (select v.id, count(*) from rota.jobs as v group by v.id) as v
        on v.id = p.id and v.count = p.count
    where p.id is null or v.id is null
    union all
    select
        'executions are numbered without gaps and repetitions',
        format('job %s, %s of %s', h.id, h.known, h.execution)
    from history as h
    where h.known <> h.distinct_known
        or h.known <> h.execution - h.first + 1
        or h.last <> h.execution
        or h.first > 1 and h.is_whole
    union all
    select
        'an execution ends after it starts, and starts after the last one ended',
        format('job %s, execution %s', x.job_id, x.execution)
    from execution as x
    where x.finished_at < x.started_at or x.started_at < x.ended_before
    union all
    select
        'no job is charged more attempts than it had, or than it is allowed',
        format('job %s, attempt %s', v.id, v.attempt)
    from rota.jobs as v
    inner join history as h on h.id = v.id
    where v.attempt > v.max_attempts
        or v.attempt > v.execution
        or h.is_whole and v.state <> 'cancelled' and v.attempt > h.charged
    union all
    select 'a running job has a worker whose end nobody has noted', 'job ' || j.id
    from rota.job as j
    left join rota.worker as w on w.id = j.worker_id
    where j.state = 'running' and (w.id is null or w.ended_at is not null)
    union all
    select 'a waiting job has no worker, claim, deadline or cancellation', 'job ' || j.id
    from rota.job as j
    where j.state <> 'running'
        and num_nonnulls(
            j.worker_id, j.claimed_at, j.deadline_at, j.cancel_requested_at,
            j.cancel_reason
        ) > 0
    union all
    select 'a queued job is due and has a position', 'job ' || j.id
    from rota.job as j
    where j.state = 'queued' and (j.run_at > rota._now() or j.position is null)
    union all
    select 'no two queued jobs have one position', 'position ' || j.position
    from rota.job as j
    where j.state = 'queued'
    group by j.position
    having count(*) > 1
    union all
    select
        'no floor is above a queued position',
        format('job %s, lane %s, position %s', j.id, j.lane_id, j.position)
    from rota.job as j
    inner join rota.lane as l on l.id = abs(j.lane_id)
    where j.state = 'queued'
        and j.position < greatest(
            case when j.lane_id > 0 then l.floor else l.front_floor end,
            (rota._floors())[2 * l.id + (j.lane_id < 0)::integer]
        )
    union all
    select 'no scheduled job is due before the floor of its time', 'job ' || j.id
    from rota.job as j
    where j.state = 'scheduled' and j.run_at < rota._time_floor('due')
    union all
    select 'no deadline is before the floor of deadlines', 'job ' || j.id
    from rota.job as j
    where j.deadline_at < rota._time_floor('deadline')
    union all
    select 'every job belongs to a lane of a queue', 'job ' || j.id
    from rota.job as j
    where not exists (select from rota.lane as l where l.id = abs(j.lane_id))
    union all
    select 'a key of a live job is that job''s', 'job ' || j.id
    from rota.job as j
    inner join rota.lane as l on l.id = abs(j.lane_id)
    where j.idempotency_key is not null
        and not exists (
            select
            from rota.idempotency_key as ik
            where ik.queue_id = l.queue_id
                and ik.key = j.idempotency_key
                and ik.job_id = j.id
                and ik.expires_at is null
        )
    union all
    select 'no two live jobs of a queue have one key', 'job ' || min(j.id)
    from rota.job as j
    inner join rota.lane as l on l.id = abs(j.lane_id)
    where j.idempotency_key is not null
    group by l.queue_id, j.idempotency_key
    having count(*) > 1
    union all
    select
        'a key belongs to a live job exactly while it does not expire',
        format('key %s of job %s', quote_literal(ik.key), ik.job_id)
    from rota.idempotency_key as ik
    left join rota.job as j on j.id = ik.job_id
    where (ik.expires_at is null) <> (j.id is not null)
    union all
    select 'a lost worker does not beat, an ended one does not live', 'worker ' || w.id
    from rota.worker as w
    where w.heartbeat_at > w.lost_at
        or w.heartbeat_at > w.ended_at
        or w.lost_at > w.ended_at
        or w.lease_expires_at <> w.heartbeat_at + w.lease
    union all
    select 'what is dead has died of something', 'job ' || d.id
    from rota.dead_letter as d
    where d.died_at < d.claimed_at
        or d.reason = 'attempts_exhausted' and d.attempt < d.max_attempts
        or d.reason = 'worker_lost' and d.lost_count = 0
    union all
    select 'queue_stats counts what the view jobs shows', 'queue ' || s.queue
    from rota.queue_stats as s
    where (s.scheduled_count, s.queued_count, s.running_count, s.dead_count) <> (
        select
            count(*) filter (where v.state = 'scheduled'),
            count(*) filter (where v.state = 'queued'),
            count(*) filter (where v.state = 'running'),
            count(*) filter (where v.state = 'dead')
        from rota.jobs as v
        where v.queue = s.queue
    )
)

select
    v.invariant,
    v.subject
from violation as v
order by v.invariant, v.subject
