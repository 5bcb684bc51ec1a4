begin;
select plan(16);

/* rota's own functions, not those that tests or extensions may add. */
create temp view function as
select
    p.oid,
    p.proname::text as name,
    p.proname like '\_%' as is_private,
    p.provolatile,
    p.proparallel,
    p.proisstrict,
    p.prosecdef,
    p.proconfig,
    p.proacl,
    p.proowner,
    p.proargnames,
    p.proallargtypes,
    p.prosrc,
    l.lanname::text as language
from pg_proc as p
inner join pg_language as l on l.oid = p.prolang
where p.pronamespace = 'rota'::regnamespace;

select set_eq(
    'select name from function where not is_private',
    array[
        'alter_queue', 'alter_retry_policy', 'alter_schedule', 'alter_settings',
        'cancel_job', 'cancel_jobs', 'claim_jobs', 'complete_job', 'complete_jobs',
        'create_queue', 'create_retry_policy', 'create_schedule', 'cron_describe',
        'cron_next', 'deregister_worker', 'drop_schedule', 'enqueue', 'enqueue_jobs',
        'enqueuers_in_flight', 'ensure_partitions', 'exchange', 'explain_schedule',
        'fail_job', 'fail_jobs', 'fold_tally', 'heartbeat', 'maintain', 'mark_busy',
        'mark_idle', 'materialize_schedules', 'pause_queue', 'pause_schedule',
        'promote_jobs', 'purge_archive', 'purge_dead', 'purge_keys', 'purge_workers',
        'reap_workers', 'register_worker', 'release_job', 'release_jobs',
        'release_stray_jobs', 'replay_dead', 'resume_queue', 'resume_schedule',
        'run_schedule_now', 'snooze_job', 'snooze_jobs', 'time_out_jobs', 'version'
    ],
    'the public functions are these and no others'
);
select is_empty(
    'select name from function group by name having count(*) > 1',
    'no two functions share a name'
);
select is_empty(
    $$ select name from function
       where not is_private and not prosecdef and name <> 'version' $$,
    'every public function runs with the rights of its owner'
);
select is_empty(
    $$ select name from function
       where not is_private and prosecdef
           and not coalesce('search_path=pg_catalog, pg_temp' = any (proconfig),
               false) $$,
    'every public function pins its search path'
);
select is_empty(
    'select name from function where is_private and prosecdef',
    'no private function runs with the rights of its owner'
);
select is_empty(
    $$ select f.name from function as f
       where not f.is_private
           and not exists (
               select from aclexplode(f.proacl) as a
               where a.privilege_type = 'EXECUTE'
                   and a.grantee::regrole::text in (
                       'rota_producer', 'rota_worker', 'rota_operator', 'rota_observer'
                   )
           ) $$,
    'every public function is granted to one of the roles'
);
select is_empty(
    $$ select f.name from function as f
       where f.is_private
           and exists (
               select from aclexplode(coalesce(f.proacl, acldefault('f',
                   f.proowner))) as a
               where a.grantee <> f.proowner
           ) $$,
    'every private function is granted to nobody'
);
select is_empty(
    $$ select f.name from function as f
       where exists (
           select from aclexplode(coalesce(f.proacl, acldefault('f', f.proowner))) as a
           where a.grantee = 0
       ) $$,
    'PUBLIC may execute nothing'
);
select is_empty(
    'select name from function where proisstrict',
    'no function passes over a null in silence'
);
select is_empty(
    $$ select name from function
       where prosecdef and (provolatile, proparallel) <> ('v', 'u') $$,
    'every verb is labelled volatile and parallel unsafe'
);
select is_empty(
    $$ select name from function
       where (provolatile = 'v') <> (proparallel = 'u') $$,
    'what is volatile is parallel unsafe, and the rest is parallel safe'
);
select is_empty(
    $$ select f.name || ' calls ' || g.name
       from function as f
       inner join function as g
           on f.prosrc ~ ('\mrota\.' || g.name || '\M\s*\(')
       where (case g.provolatile when 'i' then 0 when 's' then 1 else 2 end)
           > (case f.provolatile when 'i' then 0 when 's' then 1 else 2 end) $$,
    'no label is more generous than that of a function called'
);
select is_empty(
    $$ select name from function
       where provolatile <> 'v'
           and prosrc ~* ('\m(insert into|update rota|delete from|for update'
               '|for key share'
               '|nextval|pg_notify|clock_timestamp|set_config)\M') $$,
    'no function that writes, locks or reads the clock is labelled otherwise'
);
select is_empty(
    $$ select name from function
       where provolatile = 'i'
           and prosrc ~ '\m(from|join)\s+rota\.[a-z_]+\M(?!\s*\()' $$,
    'no function that reads a table is labelled immutable'
);
select is_empty(
    $$ select f.name || '.' || a.name
       from function as f
       cross join unnest(f.proargnames) as a (name)
       where f.is_private and a.name !~ '^p_' $$,
    'private parameters begin with p_'
);
select is_empty(
    $$ select f.name || '.' || a.name
       from function as f
       cross join unnest(f.proargnames) as a (name)
       where not f.is_private and a.name ~ '^(p|v|i|x)?_' $$,
    'public parameters are bare nouns'
);
select * from finish();
rollback;
