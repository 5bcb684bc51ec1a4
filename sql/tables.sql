create table rota.setting (
    is_only boolean not null default true,
    retention interval not null default '30 days',
    worker_retention interval not null default '7 days',
    timeout_grace interval not null default '10 seconds',
    constraint setting_pkey primary key (is_only),
    constraint setting_is_one_row check (is_only),
    constraint setting_retention_positive check (retention >= '1 day'),
    constraint setting_worker_retention_positive check (worker_retention >= '1 hour'),
    constraint setting_timeout_grace_not_negative check (timeout_grace >= '0')
);

create table rota.retry_policy (
    id integer not null generated always as identity,
    name text not null,
    strategy text not null,
    base interval,
    factor double precision,
    cap interval not null,
    delays interval[],
    jitter text not null,
    jitter_fraction double precision not null,
    constraint retry_policy_pkey primary key (id),
    constraint retry_policy_name_unique unique (name),
    constraint retry_policy_strategy_known
    check (strategy in ('fixed', 'linear', 'exponential', 'list')),
    constraint retry_policy_list_has_delays
    check ((strategy = 'list') = (delays is not null)),
    constraint retry_policy_formula_has_base
    check ((strategy = 'list') = (base is null)),
    constraint retry_policy_growth_has_factor
    check ((strategy in ('linear', 'exponential')) = (factor is not null)),
    constraint retry_policy_jitter_known check (jitter in ('none', 'full', 'fraction')),
    constraint retry_policy_jitter_fraction_in_range
    check (jitter_fraction between 0 and 1),
    constraint retry_policy_cap_in_range check (cap > '0' and cap <= '365 days')
);

create table rota.queue (
    id integer not null generated always as identity,
    name text not null,
    paused_at timestamptz,
    max_attempts integer not null default 10,
    retry_policy_id integer not null,
    timeout interval,
    max_lost integer not null default 5,
    max_payload_bytes integer not null default 2097152,
    retention interval,
    is_notifying boolean not null default true,
    created_at timestamptz not null,
    purged_before timestamptz not null default '-infinity',
    constraint queue_pkey primary key (id),
    constraint queue_name_unique unique (name),
    constraint queue_retry_policy_fkey
    foreign key (retry_policy_id) references rota.retry_policy (id),
    constraint queue_max_attempts_positive check (max_attempts > 0),
    constraint queue_timeout_positive check (timeout > '0'),
    constraint queue_max_lost_positive check (max_lost > 0),
    constraint queue_max_payload_bytes_positive check (max_payload_bytes > 0),
    constraint queue_retention_not_negative check (retention >= '0')
);

/* Tiny, and read once for every batch that finishes. */
create index queue_unarchived_idx on rota.queue (id) where retention = '0';

/* A job of this lane stands in the ready index under id, or under -id while it is in
the front lane: handed back jobs run before the others of their priority. No queued job
has a position below its lane's floor (decision 2). */
create table rota.lane (
    id integer not null generated always as identity,
    queue_id integer not null,
    priority smallint not null,
    floor bigint not null default 0,
    front_floor bigint not null default 0,
    constraint lane_pkey primary key (id),
    constraint lane_queue_priority_unique unique (queue_id, priority),
    constraint lane_queue_fkey foreign key (queue_id) references rota.queue (id)
);

create sequence rota.position_seq;

/* Live jobs only. No foreign keys: a check would lock a lane or worker row for every
job (decision 1). Columns are ordered by alignment. Each statement that writes here has
PostgreSQL read every check and index anew, which single enqueues feel: they say what
they promise in few words (profile.md). */
create table rota.job (
    id bigint not null generated always as identity,
    position bigint,
    worker_id bigint,
    run_at timestamptz not null,
    created_at timestamptz not null,
    claimed_at timestamptz,
    deadline_at timestamptz,
    cancel_requested_at timestamptz,
    timeout interval,
    key_ttl interval,
    lane_id integer not null,
    attempt integer not null default 0,
    max_attempts integer not null,
    execution integer not null default 0,
    lost_count integer not null default 0,
    retry_policy_id integer,
    state text not null,
    kind text not null,
    idempotency_key text,
    cancel_reason text,
    payload jsonb not null,
    constraint job_pkey primary key (id),
    constraint job_state_fits check (
        state = case
            when worker_id is not null then 'running'
            when position is not null then 'queued'
            else 'scheduled'
        end
    ),
    constraint job_running_is_held check (
        case
            when worker_id is null
                then coalesce(claimed_at, deadline_at, cancel_requested_at) is null
            else claimed_at is not null
        end
    ),
    constraint job_attempt_in_range
    check (
        attempt <= least(max_attempts, execution) and least(attempt, lost_count) >= 0
    )
)
with (
    fillfactor = 85,
    autovacuum_vacuum_scale_factor = 0.02,
    autovacuum_vacuum_insert_scale_factor = 0.05,
    autovacuum_analyze_scale_factor = 0.05,
    autovacuum_vacuum_cost_delay = 0
);

create index job_ready_idx on rota.job (lane_id, position) where state = 'queued';
create index job_due_idx on rota.job (run_at, id) where state = 'scheduled';
create index job_running_idx on rota.job (worker_id, cancel_requested_at)
where state = 'running';
create index job_deadline_idx on rota.job (deadline_at) where deadline_at is not null;

create table rota.attempt (
    job_id bigint not null,
    worker_id bigint not null,
    started_at timestamptz not null,
    finished_at timestamptz not null,
    execution integer not null,
    attempt integer not null,
    outcome text not null,
    error text,
    constraint attempt_pkey primary key (job_id, execution, finished_at),
    constraint attempt_outcome_known check (
        outcome in ('failed', 'timed_out', 'lost', 'released', 'snoozed', 'cancelled')
    )
)
partition by range (finished_at);

create table rota.attempt_default partition of rota.attempt default;

create table rota.archive (
    id bigint not null,
    worker_id bigint,
    run_at timestamptz not null,
    created_at timestamptz not null,
    claimed_at timestamptz,
    finished_at timestamptz not null,
    lane_id integer not null,
    attempt integer not null,
    max_attempts integer not null,
    execution integer not null,
    lost_count integer not null,
    state text not null,
    kind text not null,
    idempotency_key text,
    reason text,
    payload jsonb not null,
    result jsonb,
    constraint archive_pkey primary key (id, finished_at),
    constraint archive_state_known check (state in ('completed', 'cancelled')),
    constraint archive_completed_was_claimed
    check (state = 'cancelled' or claimed_at is not null)
)
partition by range (finished_at);

create index archive_finished_idx on rota.archive using brin (finished_at);

create table rota.archive_default partition of rota.archive default;

create table rota.dead_letter (
    id bigint not null,
    worker_id bigint not null,
    run_at timestamptz not null,
    created_at timestamptz not null,
    claimed_at timestamptz not null,
    died_at timestamptz not null,
    timeout interval,
    key_ttl interval,
    lane_id integer not null,
    attempt integer not null,
    max_attempts integer not null,
    execution integer not null,
    lost_count integer not null,
    retry_policy_id integer,
    kind text not null,
    idempotency_key text,
    reason text not null,
    error text,
    payload jsonb not null,
    constraint dead_letter_pkey primary key (id),
    constraint dead_letter_reason_known
    check (reason in ('attempts_exhausted', 'not_retryable', 'worker_lost'))
);

create index dead_letter_died_idx on rota.dead_letter (died_at);

/* job_id stays when the job is done, for as long as the time to live asks. */
create table rota.idempotency_key (
    queue_id integer not null,
    key text not null,
    job_id bigint not null,
    expires_at timestamptz,
    constraint idempotency_key_pkey primary key (queue_id, key)
);

create index idempotency_key_expires_idx on rota.idempotency_key (expires_at)
where expires_at is not null;

/* Holds the lease of everything the worker claimed. A worker row never comes back to
life: lost_at and ended_at are only ever set. */
create table rota.worker (
    id bigint not null generated always as identity,
    registered_at timestamptz not null,
    heartbeat_at timestamptz not null,
    lease_expires_at timestamptz not null,
    lost_at timestamptz,
    ended_at timestamptz,
    lease interval not null,
    name text not null,
    version text,
    constraint worker_pkey primary key (id),
    constraint worker_lease_positive check (lease > '0')
)
with (
    fillfactor = 50,
    autovacuum_vacuum_scale_factor = 0.0,
    autovacuum_vacuum_threshold = 200
);

/* Jobs of queues that keep no archive, counted: appended by whoever finishes them,
folded together by maintain(). */
create table rota.tally (
    queue_id integer not null,
    completed_count bigint not null,
    cancelled_count bigint not null
);

/* checked_at: every fire up to here has been dealt with. next_fires holds the coming
ones, nearest first, and is empty exactly while nothing is to fire. */
create table rota.schedule (
    id integer not null generated always as identity,
    name text not null,
    expression text not null,
    timezone text not null,
    gap text not null,
    repeat text not null,
    queue_id integer not null,
    kind text not null,
    payload jsonb not null,
    priority smallint not null,
    max_attempts integer,
    retry_policy_id integer,
    timeout interval,
    missed text not null,
    max_missed integer not null,
    max_age interval,
    overlap text not null,
    created_at timestamptz not null,
    anchor_at timestamptz not null,
    checked_at timestamptz not null,
    next_fires timestamptz[] not null,
    last_due_at timestamptz,
    last_fired_at timestamptz,
    last_job_id bigint,
    missed_count bigint not null default 0,
    overlapped_count bigint not null default 0,
    paused_at timestamptz,
    pause_reason text,
    broken_at timestamptz,
    error text,
    constraint schedule_pkey primary key (id),
    constraint schedule_name_unique unique (name),
    constraint schedule_queue_fkey foreign key (queue_id) references rota.queue (id),
    constraint schedule_retry_policy_fkey
    foreign key (retry_policy_id) references rota.retry_policy (id),
    constraint schedule_gap_known check (gap in ('run_after', 'skip')),
    constraint schedule_repeat_known check (repeat in ('first', 'both')),
    constraint schedule_missed_known check (missed in ('latest', 'skip', 'all')),
    constraint schedule_max_missed_in_range check (max_missed between 1 and 1000),
    constraint schedule_max_age_positive check (max_age > '0'),
    constraint schedule_overlap_known check (overlap in ('allow', 'skip')),
    constraint schedule_rests_or_fires check (
        (next_fires = '{}') = (paused_at is not null or broken_at is not null)
    ),
    constraint schedule_broken_has_error check ((broken_at is null) = (error is null)),
    constraint schedule_reason_needs_pause
    check (pause_reason is null or paused_at is not null)
)
with (fillfactor = 80);

create index schedule_due_idx on rota.schedule ((next_fires[1]))
where next_fires <> '{}';
