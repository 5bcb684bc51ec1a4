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
