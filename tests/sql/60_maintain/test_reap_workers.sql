begin;
select plan(25);

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
    rota.register_worker('short', '10 s') as short,
    rota.register_worker('long', '1 h') as long;
do $$
begin
    perform rota.create_queue('fragile', max_lost => 3);
    perform rota.enqueue_jobs(
        '{a,b,c,d}', array_fill('{}'::jsonb, array[4]), max_attempts => 1
    );
    perform rota.claim_jobs(short, max_jobs => 3) from ref;
    perform rota.claim_jobs(long) from ref;
    perform rota.enqueue('behind');
end;
$$;

set local test.now = '2030-01-01 12:00:09.999999+00';
select results_eq(
    'select r.worker_count, r.job_count from rota.reap_workers() as r', 'values (0, 0)',
    'nobody is lost while the lease lasts'
);
set local test.now = '2030-01-01 12:00:10+00';
select results_eq(
    'select r.worker_count, r.job_count from rota.reap_workers(2) as r',
        'values (1, 2)',
    'then the worker is lost; its jobs come back, no more at once than asked for'
);
select results_eq(
    $$ select w.state, w.lost_at, w.ended_at, w.running_count
       from rota.worker_status as w, ref where w.id = ref.short $$,
    $$ values ('lost', timestamptz '2030-01-01 12:00:10+00', null::timestamptz,
       1::bigint) $$,
    'a lost worker has not ended while it holds jobs'
);
select results_eq(
    'select r.worker_count, r.job_count from rota.reap_workers(2) as r',
        'values (0, 1)',
    'the rest comes back the next time'
);
select is(
    (select w.ended_at from rota.worker_status as w, ref where w.id = ref.short),
    '2030-01-01 12:00:10+00', 'and then it has ended'
);
select results_eq(
    'select r.worker_count, r.job_count from rota.reap_workers() as r', 'values (0, 0)',
    'it is lost once'
);
select results_eq(
    $$ select j.kind, j.state, j.attempt, j.execution, j.lost_count, j.worker_id is null
       from rota.jobs as j where j.kind in ('a', 'b', 'c', 'd') order by 1 $$,
    $$ values ('a', 'queued', 0, 1, 1, true), ('b', 'queued', 0, 1, 1, true),
        ('c', 'queued', 0, 1, 1, true), ('d', 'running', 1, 1, 0, false) $$,
    'the jobs are queued, uncharged, the loss counted; those of others run on'
);
select results_eq(
    $$ select e.outcome, e.attempt, e.error, count(*)
       from rota.executions as e where e.outcome <> 'running' group by 1, 2, 3 $$,
    $$ values ('lost', 1, 'worker lost', 3::bigint) $$,
    'each lost execution is on record'
);
select throws_ok(
    'select rota.claim_jobs(short) from ref', 'RT007', null,
    'the lost worker may claim no more'
);
select results_eq(
    $$ select c.kind, c.attempt, c.execution
       from ref cross join lateral rota.claim_jobs(long, max_jobs => 10) as c $$,
    $$ values ('a', 1, 2), ('b', 1, 2), ('c', 1, 2), ('behind', 1, 1) $$,
    'reaped jobs run before the others'
);
select is_empty(
    $$ select j.id from rota.jobs as j
       cross join lateral rota.fail_jobs(array[j.id], '{1}', '{late}') as f
       where j.kind in ('a', 'b', 'c') $$,
    'what the lost worker says later is not heard'
);
select is(
    (select count(*)::integer from rota.jobs as j where j.state = 'running'), 5,
    'and changes nothing'
);

/* A job that takes its worker down each time. */
create temp table killer as
select rota.enqueue('killer', queue => 'fragile', idempotency_key => 'k') as id;
create function pg_temp.lose(p_times integer)
returns setof text
language plpgsql
as $$
begin
    for i in 1..p_times loop
        perform rota.claim_jobs(rota.register_worker('victim', '1 s'), '{fragile}');
        perform set_config('test.now', (rota._now() + interval '1 s')::text, true);
        perform rota.reap_workers();
        return query
        select format('%s %s %s', j.state, j.attempt, j.lost_count)
        from rota.jobs as j inner join killer using (id);
    end loop;
end;
$$;
select results_eq(
    'select pg_temp.lose(2)', $$ values ('queued 0 1'), ('queued 0 2') $$,
    'a job that loses its worker comes back'
);
select results_eq(
    'select pg_temp.lose(1)', $$ values ('dead 0 3') $$,
    'but not more often than its queue allows'
);
select results_eq(
    $$ select d.reason, d.error, d.attempt, d.lost_count, d.execution
       from rota.dead_letters as d $$,
    $$ values ('worker_lost', 'worker lost', 0, 3, 3) $$,
    'then it is dead, for that reason, with its attempts untouched'
);
select isnt(
    rota.enqueue('k', queue => 'fragile', idempotency_key => 'k'), k.id,
    'and its key is free'
)
from killer as k;

/* Losses and failures do not add up. */
create temp table mixed as
select rota.enqueue('mixed', queue => 'fragile', priority => 9,
    max_attempts => 2) as id;
do $$
begin
    for i in 1..2 loop
        perform rota.claim_jobs(rota.register_worker('victim', '1 s'), '{fragile}');
        perform set_config('test.now', (rota._now() + interval '1 s')::text, true);
        perform rota.reap_workers();
    end loop;
    perform rota.claim_jobs(rota.register_worker('sound', '1 day'), '{fragile}');
    perform rota.fail_job(id, 3, 'e', delay => '0') from mixed;
    perform rota.claim_jobs(rota.register_worker('sound', '1 day'), '{fragile}');
end;
$$;
select results_eq(
    $$ select j.state, j.attempt, j.execution, j.lost_count
       from rota.jobs as j inner join mixed using (id) $$,
    $$ values ('running', 2, 4, 2) $$,
    'two losses and one failure leave the second of two attempts'
);
select results_eq(
    $$ select e.execution, e.outcome from rota.executions as e
       inner join mixed as m on m.id = e.job_id order by 1 $$,
    $$ values (1, 'lost'), (2, 'lost'), (3, 'failed'), (4, 'running') $$,
    'and no execution is missing'
);
do $$
begin
    perform rota.register_worker('idle', '1 s');
    perform set_config('test.now', (rota._now() + interval '1 s')::text, true);
end;
$$;
select results_eq(
    'select r.worker_count, r.job_count from rota.reap_workers() as r', 'values (1, 0)',
    'a worker without jobs is lost as well'
);
select is(
    (select count(*)::integer from rota.worker_status as w
     where w.state = 'lost' and w.ended_at is null),
    0, 'every lost worker that holds nothing has ended'
);
select throws_ok(
    format('select rota.reap_workers(%s)', b.given), '22023', null,
    'refused: max_jobs ' || b.given
)
from (values ('null'), ('0'), ('-1')) as b (given);
select lives_ok('select rota.reap_workers(2147483647)', 'any maximum may be asked for');
select is_empty(
    $$ select j.id from rota.jobs as j
       where j.state = 'running'
           and not exists (
               select from rota.worker_status as w
               where w.id = j.worker_id and w.state <> 'lost'
           ) $$,
    'no job runs under a lost worker'
);
select * from finish();
rollback;
