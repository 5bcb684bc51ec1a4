begin;
select plan(34);

create or replace function rota._now()
returns timestamptz
language sql
volatile
parallel unsafe
as $$
    select current_setting('test.now')::timestamptz
$$;
set local test.now = '2030-01-01 12:00+00';

create temp table ref as
select rota.register_worker('w', '1 day') as worker;
do $$
begin
    perform rota.create_queue('unkept', retention => '0');
    perform rota.enqueue_jobs('{a,b,c,d,e}', array_fill('{"p": 1}'::jsonb, array[5]));
    perform rota.enqueue_jobs('{u,v,w}', array_fill('{}'::jsonb, array[3]), 'unkept');
    perform rota.claim_jobs(worker, '{default}', 5) from ref;
    perform rota.claim_jobs(worker, '{unkept}', 2) from ref;
end;
$$;
create temp table job as
select
    j.id,
    j.kind
from rota.jobs as j;
create function pg_temp.id(p_kind text)
returns bigint
language sql
as $$
    select id from job where kind = p_kind
$$;

set local test.now = '2030-01-01 12:00:07+00';
select results_eq(
    $$ select * from rota.complete_jobs(
        array[pg_temp.id('a'), pg_temp.id('b')], '{1,1}',
        array['{"r": 1}', null]::jsonb[]) as c order by 1 $$,
    $$ values (pg_temp.id('a')), (pg_temp.id('b')) $$,
    'completing answers with the ids of the jobs completed'
);
select results_eq(
    $$ select j.state, j.finished_at, j.result, j.payload, j.attempt, j.execution,
           j.worker_id = ref.worker
       from rota.jobs as j, ref where j.kind in ('a', 'b') order by j.kind $$,
    $$ values
       ('completed', timestamptz '2030-01-01 12:00:07+00', '{"r": 1}'::jsonb,
           '{"p": 1}'::jsonb, 1, 1, true),
       ('completed', '2030-01-01 12:00:07+00', null, '{"p": 1}', 1, 1, true) $$,
    'a completed job keeps its payload, its result, and who did it when'
);
select set_eq(
    $$ select * from rota.complete_jobs(
        array[pg_temp.id('b'), pg_temp.id('c'), pg_temp.id('d'), -1], '{1,0,1,1}') $$,
    $$ values (pg_temp.id('b')), (pg_temp.id('d')) $$,
    'of a batch, what was completed before by the same token is answered again, '
    'and a stale token does not spoil the rest'
);
select is(
    (select count(*)::integer from rota.jobs as j where j.kind in ('b', 'd')), 2,
    'repeating a completion stores nothing twice'
);
select is(
    (select j.state from rota.jobs as j where j.kind = 'c'), 'running',
    'a stale token completes nothing'
);
select results_eq(
    $$ select * from rota.complete_jobs(
        array[pg_temp.id('c'), pg_temp.id('c')], '{1,1}', array['1', '2']::jsonb[]) $$,
    $$ values (pg_temp.id('c')) $$,
    'a batch that names a job twice completes it once'
);
select is_empty(
    $$ select * from rota.complete_jobs('{}', '{}') $$, 'an empty batch is fine'
);
select is_empty(
    $$ select * from rota.complete_jobs(array[pg_temp.id('w')], '{0}') $$,
    'a job that nobody runs cannot be completed'
);

/* A queue without archive. */
select is(
    (select count(*)::integer from rota.complete_jobs(
        array[pg_temp.id('u'), pg_temp.id('v')], '{1,1}')),
    2,
    'jobs of a queue that keeps no archive are completed'
);
select is_empty(
    $$ select * from rota.jobs where kind in ('u', 'v') $$, 'and are gone'
);
select is(
    (select s.unarchived_completed_count from rota.queue_stats as s
    where s.queue = 'unkept'),
    2::bigint, 'but counted'
);

/* One job. */
select lives_ok(
    $$ select rota.complete_job(pg_temp.id('e'), 1, '{"done": true}') $$,
    'one job is completed'
);
select lives_ok(
    $$ select rota.complete_job(pg_temp.id('e'), 1, '"other"') $$, 'and may be again'
);
select is(
    (select j.result from rota.jobs as j where j.kind = 'e'), '{"done": true}'::jsonb,
    'the first result stands'
);

/* A late worker. */
create temp table late as
select rota.enqueue('late') as id;
do $$
begin
    perform rota.claim_jobs(rota.register_worker('late', '1 s'));
end;
$$;
set local test.now = '2030-01-01 12:01+00';
do $$
begin
    perform rota.reap_workers();
end;
$$;
select throws_ok(
    'select rota.complete_job(id, 1) from late', 'RT001', null,
    'a worker that lost its lease cannot complete a job that waits again'
);
do $$
begin
    perform rota.claim_jobs(worker) from ref;
end;
$$;
select throws_ok(
    'select rota.complete_job(id, 1) from late', 'RT001', null,
    'nor one that is leased to another'
);
select is_empty(
    $$ select * from late, rota.complete_jobs(array[id], '{1}') $$,
    'nor in a batch'
);
select is(
    (select j.state from rota.jobs as j, late where j.id = late.id), 'running',
    'the other works on'
);
select lives_ok('select rota.complete_job(id, 2) from late', 'and completes it');

select throws_ok(
    format('select rota.complete_jobs(%s)', b.arguments), '22023', null,
    'refused: ' || b.arguments
)
from (
    values
    ('null, null'),
    ('''{1}'', null'),
    ('null, ''{1}'''),
    ('''{1,2}'', ''{1}'''),
    ('''{}'', ''{1}'''),
    ('array[null::bigint], ''{1}'''),
    ('''{1}'', array[null::integer]'),
    ('''{{1,2},{3,null}}'', ''{1,1,1,1}'''),
    ('''{1}'', ''{1}'', array[''1'', ''2'']::jsonb[]'),
    ('''{1}'', ''{1}'', ''{}''')
) as b (arguments);
select throws_ok(
    format('select rota.complete_job(%s)', b.arguments), b.code, null,
    format('one refused with %s: %s', b.code, b.arguments)
)
from (
    values
    ('null, 1', '22023'),
    ('1, null', '22023'),
    ('-9223372036854775808, 1', 'RT002'),
    ('9223372036854775807, 2147483647', 'RT002')
) as b (arguments, code);
select results_eq(
    $$ select * from rota.complete_jobs('{{1,2},{3,4}}', '{9,9,9,9}') as c $$,
    'select 1::bigint where false',
    'tokens in several dimensions are tokens'
);
select * from finish();
rollback;
