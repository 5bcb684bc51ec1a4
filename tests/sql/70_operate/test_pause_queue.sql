begin;
select plan(18);

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
    perform rota.create_queue('q');
    perform rota.create_queue('other');
    perform rota.enqueue('running', queue => 'q');
    perform rota.claim_jobs(worker, '{q}') from ref;
    perform rota.enqueue('before', queue => 'q');
    perform rota.enqueue('other', queue => 'other');
end;
$$;
create function pg_temp.claimed()
returns setof text
language sql
as $$
    select c.kind from ref cross join lateral rota.claim_jobs(worker, '{q,other}',
        10) as c
$$;

select is(rota.pause_queue('q'), true, 'a queue is paused');
select is(
    (select s.paused_at from rota.queue_stats as s where s.queue = 'q'),
    '2030-01-01 12:00+00', 'since when can be seen'
);
set local test.now = '2030-01-01 13:00+00';
select is(rota.pause_queue('q'), false, 'pausing it again does nothing');
select is(
    (select s.paused_at from rota.queue_stats as s where s.queue = 'q'),
    '2030-01-01 12:00+00', 'and does not change since when'
);
do $$
begin
    perform rota.enqueue('while', queue => 'q');
    perform rota.enqueue('delayed', queue => 'q', delay => '1 min');
    perform set_config('test.now', '2030-01-01 13:01+00', true);
end;
$$;
select is(rota.promote_jobs(), 1, 'jobs of a paused queue are enqueued and promoted');
select results_eq(
    'select pg_temp.claimed()', $$ values ('other') $$,
        'but only those of others handed out'
);
select lives_ok(
    $$ select rota.complete_job(j.id, 1) from rota.jobs as j
       where j.kind = 'running' $$,
    'what was running may finish'
);
select is(rota.resume_queue('q'), true, 'a queue is resumed');
select is(rota.resume_queue('q'), false, 'resuming it again does nothing');
select is(
    (select s.paused_at from rota.queue_stats as s where s.queue = 'q'), null,
    'it is no longer paused'
);
select results_eq(
    'select pg_temp.claimed()', $$ values ('before'), ('while'), ('delayed') $$,
    'and hands out what waited, in order'
);
select throws_ok(
    format('select rota.%s', b.call), b.code, null, format('refused with %s: %s',
        b.code, b.call)
)
from (
    values
    ('pause_queue(null)', '22023'),
    ('pause_queue('''')', 'RT003'),
    ('pause_queue(''none'')', 'RT003'),
    ('resume_queue(null)', '22023'),
    ('resume_queue('''')', 'RT003'),
    ('resume_queue(''none'')', 'RT003')
) as b (call, code);
select is(
    (select count(*)::integer from rota.queue_stats where paused_at is not null), 0,
    'nothing that was refused paused a queue'
);
select * from finish();
rollback;
