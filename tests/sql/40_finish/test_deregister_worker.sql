begin;
select plan(13);

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
    rota.register_worker('one') as one,
    rota.register_worker('two') as two;
do $$
begin
    perform rota.enqueue_jobs('{a,b,c,d}', array_fill('{}'::jsonb, array[4]));
    perform rota.claim_jobs(one, max_jobs => 3) from ref;
    perform rota.claim_jobs(two) from ref;
    perform rota.complete_job(j.id, 1) from rota.jobs as j where j.kind = 'b';
    perform rota.cancel_job(j.id) from rota.jobs as j where j.kind = 'c';
end;
$$;

select is(
    rota.deregister_worker(one), 2, 'a worker that leaves gives back what it held'
)
from ref;
select results_eq(
    $$ select j.kind, j.state, j.attempt, j.execution from rota.jobs as j order by 1 $$,
    $$ values ('a', 'queued', 0, 1), ('b', 'completed', 1, 1), ('c', 'cancelled', 1, 1),
        ('d', 'running', 1, 1) $$,
    'uncharged; what was to be cancelled is; the jobs of others run on'
);
select results_eq(
    $$ select w.state, w.ended_at, w.lost_at, w.running_count
       from rota.worker_status as w, ref where w.id = ref.one $$,
    $$ values ('ended', timestamptz '2030-01-01 12:00+00', null::timestamptz,
       0::bigint) $$,
    'the worker has ended and is not lost'
);
select throws_ok(
    'select rota.' || c.call || ' from ref', 'RT007', null,
    'a worker that has left is refused: ' || c.call
)
from (
    values
    ('deregister_worker(one)'), ('heartbeat(one)'), ('claim_jobs(one)'),
        ('exchange(one)')
) as c (call);
select throws_ok('select rota.deregister_worker(null)', 'RT007', null, 'so is nobody');
select throws_ok('select rota.deregister_worker(0)', 'RT007', null, 'and a stranger');
set local test.now = '2030-01-01 12:10+00';
select results_eq(
    'select r.worker_count, r.job_count from rota.reap_workers() as r', 'values (1, 1)',
    'who has left cannot be lost any more'
);
select results_eq(
    $$ select w.state from rota.worker_status as w, ref where w.id in (one, two)
       order by w.id $$,
    $$ values ('ended'), ('lost') $$,
    'who keeps silent can'
);
select throws_ok(
    'select rota.deregister_worker(two) from ref', 'RT007', null,
    'a lost worker cannot leave in good order'
);
select is(
    rota.deregister_worker(rota.register_worker('idle')), 0,
    'an idle worker gives back nothing'
);
select * from finish();
rollback;
