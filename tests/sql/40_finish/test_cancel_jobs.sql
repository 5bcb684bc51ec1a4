begin;
select plan(29);

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
select rota.register_worker('w', '1 min') as worker;
do $$
begin
    perform rota.create_queue('unkept', retention => '0');
    perform rota.enqueue_jobs(
        '{completes,fails,releases,snoozes,is lost,times out}',
        array_fill('{}'::jsonb, array[6]), timeout => '10 s'
    );
    perform rota.claim_jobs(worker, max_jobs => 6) from ref;
    perform rota.enqueue('queued', '{"p": 1}');
    perform rota.enqueue('scheduled', delay => '1 h', priority => 3);
    perform rota.enqueue('unkept', queue => 'unkept');
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

set local test.now = '2030-01-01 12:00:01+00';
select bag_eq(
    $$ select k.kind, c.state
       from rota.cancel_jobs(array_append(array(select id
       from job), 0::bigint), 'why') as c
       inner join job as k using (id) $$,
    $$ values ('queued', 'cancelled'), ('scheduled', 'cancelled'), ('unkept',
       'cancelled'),
        ('completes', 'running'), ('fails', 'running'), ('releases', 'running'),
        ('snoozes', 'running'), ('is lost', 'running'), ('times out', 'running') $$,
    'waiting jobs are cancelled at once, running ones are asked to stop'
);
select results_eq(
    $$ select j.kind, j.state, j.reason, j.finished_at, j.payload, j.priority
       from rota.jobs as j where j.state = 'cancelled' order by 1 $$,
    $$ values ('queued', 'cancelled', 'why', timestamptz '2030-01-01 12:00:01+00',
           '{"p": 1}'::jsonb, 0::smallint),
       ('scheduled', 'cancelled', 'why', '2030-01-01 12:00:01+00', '{}',
           3::smallint) $$,
    'a cancelled job keeps its payload and the reason'
);
select is(
    (select s.unarchived_cancelled_count from rota.queue_stats as s
    where s.queue = 'unkept'),
    1::bigint, 'on a queue that keeps no archive it is counted'
);
select is(
    (select count(*)::integer from rota.jobs as j
     where j.state = 'running' and j.cancel_requested_at = rota._now()
         and j.reason = 'why'),
    6, 'the request stands with the running jobs'
);
set local test.now = '2030-01-01 12:00:02+00';
select results_eq(
    $$ select (rota.cancel_job(pg_temp.id('fails'), 'other')).state $$,
    $$ values ('running') $$,
    'asking again is fine'
);
select results_eq(
    $$ select j.cancel_requested_at, j.reason from rota.jobs as j
       where j.kind = 'fails' $$,
    $$ values (timestamptz '2030-01-01 12:00:01+00', 'why') $$,
    'and the first request stands'
);

/* Whatever a running job does next ends it. */
select lives_ok(
    $$ select rota.complete_job(pg_temp.id('completes'), 1) $$,
    'a job may complete although it was asked to stop'
);
select results_eq(
    $$ select f.state from rota.fail_job(pg_temp.id('fails'), 1, 'stopped') as f $$,
    $$ values ('cancelled') $$,
    'a job asked to stop that fails is cancelled, not tried again'
);
select results_eq(
    $$ select f.state from rota.release_job(pg_temp.id('releases'), 1) as f $$,
    $$ values ('cancelled') $$,
    'one that is released is not queued again'
);
select results_eq(
    $$ select f.state from rota.snooze_job(pg_temp.id('snoozes'), 1, '1 h') as f $$,
    $$ values ('cancelled') $$,
    'one that snoozes does not wake up'
);
set local test.now = '2030-01-01 12:00:20+00';
select is(
    (select rota.time_out_jobs()), 2, 'one that hangs is stopped when its time is up'
);
select is(
    (select count(*)::integer from rota.jobs as j
     where j.kind in ('times out', 'is lost') and j.state = 'cancelled'),
    2, 'and is then cancelled'
);
select results_eq(
    $$ select j.kind, j.state, j.reason from rota.jobs as j
       where j.kind not in ('queued', 'scheduled') order by 1 $$,
    $$ values ('completes', 'completed', null), ('fails', 'cancelled', 'why'),
        ('is lost', 'cancelled', 'why'), ('releases', 'cancelled', 'why'),
        ('snoozes', 'cancelled', 'why'), ('times out', 'cancelled', 'why') $$,
    'each ends once, with the reason of the request'
);
select results_eq(
    $$ select k.kind, e.outcome, e.error
       from rota.executions as e inner join job as k on k.id = e.job_id
       where k.kind in ('completes', 'fails', 'releases') order by 1 $$,
    $$ values ('completes', 'completed', null), ('fails', 'cancelled', 'stopped'),
        ('releases', 'released', null) $$,
    'how the execution ended is on record'
);

/* A worker that dies over it. */
create temp table lost as
select rota.enqueue('lost') as id;
do $$
begin
    perform rota.claim_jobs(worker) from ref;
    perform rota.cancel_job(id) from lost;
end;
$$;
set local test.now = '2030-01-01 12:02+00';
select results_eq(
    'select r.worker_count, r.job_count from rota.reap_workers() as r', 'values (1, 1)',
    'a worker is lost with a job that was asked to stop'
);
select results_eq(
    'select j.state, j.reason from rota.jobs as j, lost where j.id = lost.id',
    $$ values ('cancelled', null::text) $$,
    'which is cancelled and does not come back'
);

create temp table twice as
select rota.enqueue('twice') as id;
select results_eq(
    'select c.state from twice cross join lateral rota.cancel_jobs(array[id, id]) as c',
    $$ values ('cancelled') $$,
    'a batch that names a job twice cancels it once'
);
select is_empty(
    'select c.* from twice cross join lateral rota.cancel_jobs(array[id]) as c',
    'what has ended is not cancelled again'
);
select is_empty($$ select * from rota.cancel_jobs('{}') $$, 'an empty batch is fine');
create temp table worded as
select
    rota.enqueue('worded') as id,
    rota.enqueue('endless') as endless;
do $$
begin
    perform rota.cancel_job(id, 'it''s; drop table rota.job; --') from worded;
    perform rota.cancel_job(endless, repeat('x', 100000)) from worded;
end;
$$;
select is(
    (select j.reason from rota.jobs as j, worded where j.id = worded.id),
    'it''s; drop table rota.job; --', 'any text may be a reason'
);
select is(
    (select length(j.reason) from rota.jobs as j, worded where j.id = worded.endless),
    2000, 'an endless one is cut'
);
select throws_ok(
    format('select rota.%s', b.call), b.code, null, format('refused with %s: %s',
        b.code, b.call)
)
from (
    values
    ('cancel_jobs(null)', '22023'),
    ('cancel_jobs(array[null::bigint])', '22023'),
    ('cancel_jobs(array[1, null])', '22023'),
    ('cancel_jobs(''{{1,null}}'')', '22023'),
    ('cancel_job(null)', '22023'),
    ('cancel_job(0)', 'RT002'),
    ('cancel_job(9223372036854775807)', 'RT002')
) as b (call, code);
select is_empty(
    $$ select * from rota.cancel_jobs('{{0,-1},{-2,-3}}') $$,
    'ids in several dimensions are ids'
);
select * from finish();
rollback;
