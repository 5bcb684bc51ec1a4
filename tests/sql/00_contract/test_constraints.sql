begin;
select plan(8);

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
    run_at, created_at, claimed_at, lane_id, max_attempts, execution, attempt, state,
        kind,
    payload
)
values (now(), now(), now(), 1, 1, 1, 1, 'running', 'k', '{}');
prepare queued_without_position as
insert into rota.job (run_at, created_at, lane_id, max_attempts, state, kind, payload)
values (now(), now(), 1, 1, 'queued', 'k', '{}');
prepare attempt_beyond_max as
insert into rota.job (
    run_at, created_at, lane_id, max_attempts, attempt, execution, state, kind, payload
)
values (now(), now(), 1, 1, 2, 2, 'scheduled', 'k', '{}');
prepare unknown_state as
insert into rota.job (run_at, created_at, lane_id, max_attempts, state, kind, payload)
values (now(), now(), 1, 1, 'done', 'k', '{}');

select throws_like(
    'running_without_worker', '%job_running_is_held%',
    'a running job has a worker, whoever writes it'
);
select throws_like(
    'queued_without_position', '%job_queued_has_position%',
    'a queued job has a position'
);
select throws_like(
    'attempt_beyond_max', '%job_attempt_in_range%',
    'no job is charged more attempts than it may have'
);
select throws_like(
    'unknown_state', '%job_state_known%', 'a live job is scheduled, queued or running'
);
select * from finish();
rollback;
