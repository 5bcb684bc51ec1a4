begin;
select plan(18);

select is_empty(
    $$ select c.conrelid::regclass, c.conname
       from pg_constraint as c
       inner join pg_class as t on t.oid = c.conrelid
       where c.connamespace = 'rota'::regnamespace
           and not t.relispartition
           and c.contype <> 'n'
           and c.conname not like replace(t.relname, '_', '\_') || '\_%' $$,
    'every constraint is named after its table'
);
select is_empty(
    $$ select t.relname, i.relname
       from pg_index as x
       inner join pg_class as i on i.oid = x.indexrelid
       inner join pg_class as t on t.oid = x.indrelid
       where t.relnamespace = 'rota'::regnamespace
           and not t.relispartition
           and i.relname not like replace(t.relname, '_', '\_') || '\_%' $$,
    'every index is named after its table'
);
select is_empty(
    $$ select c.conname from pg_constraint as c
       where c.connamespace = 'rota'::regnamespace and not c.convalidated $$,
    'every constraint is validated'
);
select is_empty(
    $$ select c.relname from pg_class as c
       where c.relnamespace = 'rota'::regnamespace
           and c.relkind in ('r', 'p')
           and c.relname <> 'tally'
           and not exists (
               select from pg_constraint as k
               where k.conrelid = c.oid and k.contype = 'p'
           ) $$,
    'every table but the tally has a primary key'
);


prepare running_without_worker as
insert into rota.job (
    position, run_at, created_at, lane_id, max_attempts, state, kind, payload
)
values (1, now(), now(), 1, 1, 'running', 'k', '{}');
prepare waiting_with_worker as
insert into rota.job (
    position, worker_id, run_at, created_at, claimed_at, lane_id, max_attempts, state,
    kind, payload
)
values (1, 1, now(), now(), now(), 1, 1, 'queued', 'k', '{}');
prepare queued_without_position as
insert into rota.job (run_at, created_at, lane_id, max_attempts, state, kind, payload)
values (now(), now(), 1, 1, 'queued', 'k', '{}');
prepare scheduled_with_position as
insert into rota.job (
    position, run_at, created_at, lane_id, max_attempts, state, kind, payload
)
values (1, now(), now(), 1, 1, 'scheduled', 'k', '{}');
prepare unknown_state as
insert into rota.job (run_at, created_at, lane_id, max_attempts, state, kind, payload)
values (now(), now(), 1, 1, 'done', 'k', '{}');
prepare running_since_never as
insert into rota.job (
    position, worker_id, run_at, created_at, deadline_at, lane_id, max_attempts, state,
    kind, payload
)
values (1, 1, now(), now(), now(), 1, 1, 'running', 'k', '{}');
prepare claimed_by_nobody as
insert into rota.job (
    position, run_at, created_at, claimed_at, lane_id, max_attempts, state, kind,
    payload
)
values (1, now(), now(), now(), 1, 1, 'queued', 'k', '{}');
prepare deadline_while_waiting as
insert into rota.job (
    position, run_at, created_at, deadline_at, lane_id, max_attempts, state, kind,
    payload
)
values (1, now(), now(), now(), 1, 1, 'queued', 'k', '{}');
prepare request_while_waiting as
insert into rota.job (
    position, run_at, created_at, cancel_requested_at, lane_id, max_attempts, state,
    kind, payload
)
values (1, now(), now(), now(), 1, 1, 'queued', 'k', '{}');
prepare counted(integer, integer, integer, integer) as
insert into rota.job (
    run_at, created_at, lane_id, attempt, max_attempts, execution, lost_count, state,
    kind, payload
)
values (now(), now(), 1, $1, $2, $3, $4, 'scheduled', 'k', '{}');

select throws_like(
    'running_without_worker', '%job_state_fits%',
    'a running job has a worker, whoever writes it'
);
select throws_like(
    'waiting_with_worker', '%job_state_fits%', 'a job that waits has no worker'
);
select throws_like(
    'queued_without_position', '%job_state_fits%', 'a queued job has a position'
);
select throws_like(
    'scheduled_with_position', '%job_state_fits%', 'a scheduled job has no position'
);
select throws_like(
    'unknown_state', '%job_state_fits%', 'a live job is scheduled, queued or running'
);
select throws_like(
    'running_since_never', '%job_running_is_held%',
    'a running job has been claimed at some time'
);
select throws_like(
    'claimed_by_nobody', '%job_running_is_held%', 'a job that waits is not claimed'
);
select throws_like(
    'deadline_while_waiting', '%job_running_is_held%',
    'a job that waits has no deadline'
);
select throws_like(
    'request_while_waiting', '%job_running_is_held%',
    'a job that waits is not asked to stop'
);
select lives_ok(
    'execute counted(1, 1, 1, 0)', 'a job may be charged all its attempts'
);
select throws_like(
    'execute counted(2, 1, 2, 0)', '%job_attempt_in_range%',
    'no job is charged more attempts than it may have'
);
select throws_like(
    'execute counted(2, 2, 1, 0)', '%job_attempt_in_range%',
    'no job is charged more attempts than it was handed out'
);
select throws_like(
    'execute counted(-1, 1, 1, 0)', '%job_attempt_in_range%',
    'no job is charged less than no attempt'
);
select throws_like(
    'execute counted(0, 1, 1, -1)', '%job_attempt_in_range%',
    'no job is lost less often than never'
);
select * from finish();
rollback;
