begin;
select plan(16);

create temp table ref as
select
    rota.register_worker('w') as worker,
    rota.register_worker('other') as other;
do $$
begin
    perform rota.enqueue_jobs('{k}', array_fill('{}'::jsonb, array[5]));
    perform rota.claim_jobs(worker, max_jobs => 4) from ref;
    perform rota.claim_jobs(other) from ref;
end;
$$;
create temp table job as
select
    j.id,
    row_number() over (order by j.id)::integer as number
from rota.jobs as j;
create function pg_temp.id(p_number integer)
returns bigint
language sql
as $$
    select id from job where number = p_number
$$;

select results_eq(
    $$ select r.id, r.state
       from ref, rota.release_stray_jobs(
           worker, array[pg_temp.id(1), pg_temp.id(2), pg_temp.id(5)], '{1,1,1}'
       ) as r order by r.id $$,
    $$ values (pg_temp.id(3), 'queued'), (pg_temp.id(4), 'queued') $$,
    'what a worker holds and does not know goes back'
);
select results_eq(
    $$ select k.number, j.state, j.attempt, j.execution
       from rota.jobs as j inner join job as k using (id) order by k.number $$,
    $$ values (1, 'running', 1, 1), (2, 'running', 1, 1), (3, 'queued', 0, 1),
        (4, 'queued', 0, 1), (5, 'running', 1, 1) $$,
    'uncharged, and what it knows runs on, as do the jobs of others'
);
select is_empty(
    $$ select r.id from ref, rota.release_stray_jobs(
        worker, array[pg_temp.id(1), pg_temp.id(2)], '{1,1}') as r $$,
    'called again, there are none'
);
select results_eq(
    $$ select r.id from ref, rota.release_stray_jobs(
        worker, array[pg_temp.id(1), pg_temp.id(2)], '{1,0}') as r $$,
    $$ values (pg_temp.id(2)) $$,
    'knowing an older execution is not knowing the job'
);
select results_eq(
    $$ select r.id from ref, rota.release_stray_jobs(worker, '{}', '{}') as r $$,
    $$ values (pg_temp.id(1)) $$,
    'a worker that knows none keeps none'
);
select is(
    (
        select array_agg(e.outcome order by e.job_id)
        from rota.executions as e
        where e.outcome <> 'running'
    ),
    '{released,released,released,released}', 'each is on record as released'
);
select throws_ok(
    format('select rota.release_stray_jobs(%s)', b.arguments), b.code, null,
    format('refused with %s: %s', b.code, b.arguments)
)
from (
    values
    ('null, ''{}'', ''{}''', 'RT007'),
    ('0, ''{}'', ''{}''', 'RT007'),
    ('1, null, ''{}''', '22023'),
    ('1, ''{}'', null', '22023'),
    ('1, ''{1}'', ''{}''', '22023'),
    ('1, ''{1,2}'', ''{1}''', '22023'),
    ('1, array[null::bigint], ''{1}''', '22023'),
    ('1, ''{1}'', array[null::integer]', '22023')
) as b (arguments, code);
do $$
begin
    perform rota.deregister_worker(worker) from ref;
end;
$$;
select throws_ok(
    $$ select rota.release_stray_jobs(worker, '{}', '{}') from ref $$, 'RT007', null,
    'a worker that has left is told'
);
select is(
    (select count(*)::integer from rota.jobs as j where j.state = 'running'), 1,
    'and touches no job of others'
);
select * from finish();
rollback;
