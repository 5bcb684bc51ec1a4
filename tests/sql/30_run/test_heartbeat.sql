begin;
select plan(17);

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
select
    rota.register_worker('one', '30 s') as one,
    rota.register_worker('two', '30 s') as two,
    rota.register_worker('gone', '30 s') as gone;
do $$
begin
    perform rota.enqueue_jobs('{a,b,c,d}', array_fill('{}'::jsonb, array[4]));
    perform rota.claim_jobs(one, max_jobs => 3) from ref;
    perform rota.claim_jobs(two) from ref;
    perform rota.deregister_worker(gone) from ref;
end;
$$;

set local test.now = '2030-01-01 12:00:20+00';
select is_empty(
    'select h.* from ref cross join lateral rota.heartbeat(one) as h',
    'a heartbeat has nothing to tell when no cancellation was requested'
);
select results_eq(
    $$ select w.heartbeat_at, w.lease_expires_at
       from rota.worker_status as w order by w.id $$,
    $$ values
       (timestamptz '2030-01-01 12:00:20+00', timestamptz '2030-01-01 12:00:50+00'),
       ('2030-01-01 12:00+00', '2030-01-01 12:00:30+00'),
       ('2030-01-01 12:00+00', '2030-01-01 12:00:30+00') $$,
    'a heartbeat renews the lease of its worker and of no other'
);
set local test.now = '2030-01-01 12:00:40+00';
select results_eq(
    'select r.worker_count, r.job_count from rota.reap_workers() as r', 'values (1, 1)',
    'who keeps silent is lost, who beats is not'
);
select is(
    (select count(*)::integer from rota.jobs where state = 'running'), 3,
    'the jobs of the one that beats go on'
);
select throws_ok(
    'select rota.heartbeat(two) from ref', 'RT007', null,
    'the heartbeat of a lost worker is refused'
);
select throws_ok(
    'select rota.heartbeat(gone) from ref', 'RT007', null,
    'so is that of one that has ended'
);
select throws_ok('select rota.heartbeat(null)', 'RT007', null, 'so is that of nobody');
select throws_ok('select rota.heartbeat(0)', 'RT007', null, 'and that of a stranger');

do $$
begin
    perform rota.cancel_jobs(array_agg(j.id)) from rota.jobs as j
    where j.kind in ('a', 'c');
end;
$$;
select results_eq(
    $$ select j.kind, h.execution
       from ref cross join lateral rota.heartbeat(one) as h
       inner join rota.jobs as j using (id) order by j.kind $$,
    $$ values ('a', 1), ('c', 1) $$,
    'a heartbeat names the jobs whose cancellation was requested'
);
select is(
    (select count(*)::integer from ref cross join lateral rota.heartbeat(one) as h), 2,
    'as often as it is asked'
);
select lives_ok(
    $$ select rota.complete_job(j.id, 1) from rota.jobs as j where j.kind = 'a' $$,
    'such a job may still be completed'
);
select is(
    (select count(*)::integer from ref cross join lateral rota.heartbeat(one) as h), 1,
    'and then is no longer named'
);
select results_eq(
    $$ select j.state, j.reason from rota.jobs as j where j.kind = 'a' $$,
    $$ values ('completed', null::text) $$,
    'whichever finish comes first stands'
);

set local test.now = '2030-01-01 12:05+00';
select lives_ok(
    'select rota.heartbeat(one) from ref',
    'a late heartbeat that comes before the reaper still counts'
);
select is(
    (select (rota.reap_workers()).worker_count), 0, 'the reaper then finds nobody'
);
select is(
    (select count(*)::integer from rota.jobs as j where j.state = 'running'), 2,
    'and the jobs go on'
);
select is(
    (select w.lease_expires_at from rota.worker_status as w, ref where w.id = ref.one),
    '2030-01-01 12:05:30+00',
    'under a full new lease'
);
select * from finish();
rollback;
