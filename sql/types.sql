create type rota.enqueued_job as (
    id bigint,
    is_new boolean
);

create type rota.job_ref as (
    id bigint,
    execution integer
);

create type rota.settled_job as (
    id bigint,
    state text,
    run_at timestamptz
);

create type rota.claimed_job as (
    id bigint,
    execution integer,
    attempt integer,
    max_attempts integer,
    queue text,
    priority smallint,
    kind text,
    payload jsonb,
    timeout interval,
    run_at timestamptz,
    created_at timestamptz
);

/* claimed_job, preceded by what the row says: see exchange. */
create type rota.exchanged as (
    event text,
    id bigint,
    execution integer,
    attempt integer,
    max_attempts integer,
    queue text,
    priority smallint,
    kind text,
    payload jsonb,
    timeout interval,
    run_at timestamptz,
    created_at timestamptz
);

create type rota.maintained as (
    promoted_count integer,
    lost_worker_count integer,
    returned_count integer,
    timed_out_count integer,
    purged_count integer,
    next_due_at timestamptz
);

/* Between functions only. */
create type rota._ready_lane as (
    lane_id integer,
    queue text,
    priority smallint,
    first_position bigint
);

/* Of each job where it lies, and its lane. */
create type rota._locked_jobs as (
    jobs tid [],
    lane_ids integer [],
    queues text [],
    priorities smallint [],
    first_position bigint
);

/* What a session knows about positions: see _settle_positions. Instants are in
microseconds since 1970, so that no setting of the session can change them. */
create type rota._position_state as (
    settled bigint,
    settled_at bigint,
    mark bigint,
    marked_at bigint,
    marked_by xid8,
    horizon xid8,
    held_mark bigint,
    held_at bigint,
    holders text [],
    floored bigint
);

/* An execution that ends without finishing its job, and what becomes of the job. */
create type rota._ended_execution as (
    id bigint,
    queue_id integer,
    outcome text,
    verdict text,
    is_refunded boolean,
    run_at timestamptz,
    error text
);

create type rota._returned_execution as (
    id bigint,
    execution integer,
    outcome text,
    error text,
    retryable boolean,
    delay interval
);

create type rota.reaped as (
    worker_count integer,
    job_count integer
);

create type rota.cron_expression as (
    minutes bit (60),
    hours bit (24),
    days bit (32),
    months bit (13),
    weekdays bit (49),
    needs_both_days boolean,
    is_fixed boolean,
    every interval
);

create type rota.explained_fire as (
    due_at timestamptz,
    local_time text,
    utc_time text,
    is_skipped boolean,
    note text
);
