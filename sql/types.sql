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
    minutes bit(60),
    hours bit(24),
    days bit(32),
    months bit(13),
    weekdays bit(49),
    needs_both_days boolean,
    is_fixed boolean,
    every interval
);

comment on type rota.cron_expression is
'A cron expression parsed once: one bitmap per field, read from the left, bit 0 first.';
comment on column rota.cron_expression.minutes is
'Bit n: minute n. Null with every.';
comment on column rota.cron_expression.hours is
'Bit n: hour n. Null with every.';
comment on column rota.cron_expression.days is
'Bit n: day n of the month; bit 0: the last day (L). Null with every.';
comment on column rota.cron_expression.months is
'Bit n: month n; bit 0 is unused. Null with every.';
comment on column rota.cron_expression.weekdays is
'Bit 7k + n, n being the weekday (0 Sunday): k = 0 each week; k = 1 to 5 the k-th such
weekday of the month (n#k); k = 6 the last one (nL). Null with every.';
comment on column rota.cron_expression.needs_both_days is
'True: a day must match both day fields, because one of them starts with a star.';
comment on column rota.cron_expression.is_fixed is
'True: a job at a fixed time, neither minute nor hour field starts with a star. Only such
jobs are made up for after a gap and held back in a repeated hour.';
comment on column rota.cron_expression.every is
'Period of an @every expression, elapsed time; null for the five fields.';

create type rota.explained_fire as (
    due_at timestamptz,
    local_time text,
    utc_time text,
    is_skipped boolean,
    note text
);

comment on type rota.explained_fire is
'One line of explain_schedule: a fire, or a time the expression names that does not fire.';
comment on column rota.explained_fire.due_at is
'Instant of the fire; of a skipped one the instant it would have had: the second pass of a
repeated hour, or the end of a gap.';
comment on column rota.explained_fire.local_time is
'Weekday, wall-clock time and UTC offset in the time zone of the schedule; without an
offset when the clocks never show this time.';
comment on column rota.explained_fire.utc_time is
'due_at in UTC.';
comment on column rota.explained_fire.is_skipped is
'True when nothing runs for this line.';
comment on column rota.explained_fire.note is
'Why this line is out of the ordinary; null when it is not.';
