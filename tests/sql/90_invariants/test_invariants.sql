begin;
select plan(16);

create or replace function rota._now()
returns timestamptz
language sql
volatile
parallel unsafe
as $$
    select current_setting('test.now')::timestamptz
$$;
set local test.now = '2030-01-01 12:00+00';
set local jit = off;  -- compiling the view would take a second each time

do $$
begin
    perform rota.create_queue('a');
    perform rota.create_queue('b', max_lost => 2);
    perform rota.create_queue('unkept', retention => '0');
end;
$$;

/* Every id ever handed out, and how it is to be accounted for. */
create temp table enqueued (id bigint primary key, queue text);

/* Replayed jobs start afresh: up to this execution nothing is charged. */
create temp table replayed (id bigint, execution integer);

/* Beside what must hold after any history, what this one can tell. */
create temp view violation as
select v.invariant, v.subject
from tap.violations as v
union all
select 'no job vanishes', 'job ' || e.id
from enqueued as e
where e.queue <> 'unkept'
    and not exists (select from rota.jobs as j where j.id = e.id)
union all
select 'no job appears from nowhere', 'job ' || j.id
from rota.jobs as j
where not exists (select from enqueued as e where e.id = j.id)
union all
select
    'charged attempts are the failures, plus the one that runs or has ended',
    'job ' || j.id
from rota.jobs as j
where j.state in ('scheduled', 'queued', 'running', 'dead')
    and j.attempt <> (
        select count(*)
        from rota.executions as e
        where e.job_id = j.id
            and e.outcome in ('failed', 'timed_out', 'running')
            and not exists (
                select from replayed as r
                where r.id = e.job_id and e.execution <= r.execution
            )
    )
union all
select 'a running job has a worker that is not lost', 'job ' || j.id
from rota.job as j
inner join rota.worker as w on w.id = j.worker_id
where j.state = 'running' and w.lost_at is not null;

/* Sixty rounds of everything at once, drawn with a fixed seed: a few jobs come, workers
come, go and fall silent, and what runs ends in every way there is. */
create function pg_temp.round(p_number integer)
returns void
language plpgsql
as $$
declare
    v_worker record;
    v_job record;
    v_queue text;
begin
    perform set_config('test.now', (rota._now() + interval '7 s')::text, true);
    foreach v_queue in array '{a,b,unkept}'::text[] loop
        insert into enqueued
        select e.id, v_queue
        from rota.enqueue_jobs(
            array['k'],
            array_fill('{}'::jsonb, array[4]),
            v_queue,
            priorities => array(select (random() * 3)::integer
            from generate_series(1, 4)),
            delays => array(
                select case when random() < 0.3 then random() * interval '20 s' end
                from generate_series(1, 4)
            ),
            idempotency_keys => array(
                select
                    case when random() < 0.5 then 'key ' || (random() * 9)::integer end
                from generate_series(1, 4)
            ),
            key_ttl => case when random() < 0.5 then interval '9 s' end,
            max_attempts => 3,
            timeout => case when random() < 0.6 then interval '5 s' end
        ) as e
        on conflict do nothing;
    end loop;
    perform rota.register_worker('w' || p_number, '20 s');

    for v_worker in
        select w.id from rota.worker as w where w.ended_at is null and w.lost_at is null
        order by w.id
    loop
        case
            when random() < 0.4 then perform rota.heartbeat(v_worker.id);
            when random() < 0.1 then perform rota.deregister_worker(v_worker.id);
            else null;
        end case;
    end loop;
    for v_worker in
        select w.id from rota.worker as w where w.ended_at is null and w.lost_at is null
        order by w.id
    loop
        perform rota.claim_jobs(v_worker.id, '{a,b,unkept}', (random() * 4)::integer);
    end loop;

    for v_job in
        select j.id, j.state, j.execution - (random() < 0.1)::integer as execution,
            random() as draw
        from rota.jobs as j
        order by j.id
    loop
        case
            when v_job.state = 'running' and v_job.draw < 0.15 then
                perform rota.complete_jobs(array[v_job.id], array[v_job.execution]);
            when v_job.state = 'running' and v_job.draw < 0.3 then
                perform rota.fail_jobs(
                    array[v_job.id], array[v_job.execution], '{e}',
                        array[random() < 0.9],
                    array[case when random() < 0.5 then random() * interval '9 s' end]
                );
            when v_job.state = 'running' and v_job.draw < 0.4 then
                perform rota.release_jobs(array[v_job.id], array[v_job.execution]);
            when v_job.state = 'running' and v_job.draw < 0.5 then
                perform rota.snooze_jobs(
                    array[v_job.id], array[v_job.execution],
                        array[random() * interval '9 s']
                );
            when v_job.draw > 0.97 then
                perform rota.cancel_jobs(array[v_job.id]);
            when v_job.state = 'dead' and v_job.draw > 0.8 then
                insert into replayed
                select r.id, j.execution
                from rota.replay_dead(array[v_job.id]) as r
                inner join rota.jobs as j using (id);
            else null;
        end case;
    end loop;
    if p_number % 3 = 0 then
        perform rota.maintain();
    end if;
end;
$$;
select is(setseed(0.42)::text, '', 'the draws are the same each time');

create temp table broken (round integer, invariant text, subject text);
do $$
begin
    for i in 1..60 loop
        perform pg_temp.round(i);
        insert into broken select i, v.invariant, v.subject from violation as v;
    end loop;
end;
$$;
select is_empty(
    'select b.round, b.invariant, b.subject from broken as b',
    'after each of sixty rounds every invariant holds'
);

/* The history was worth the name. */
select cmp_ok(
    (select count(*)::integer from rota.executions as e
    where e.outcome = o.outcome), '>', 4,
    'it has executions that were ' || o.outcome
)
from unnest(
    '{completed,failed,timed_out,lost,released,snoozed,cancelled}'::text[]
) as o (outcome);
select cmp_ok(
    (select count(*)::integer from rota.jobs as j where j.state = s.state), '>', 5,
    'it has jobs that are ' || s.state
)
from unnest('{scheduled,queued,running,completed,cancelled}'::text[]) as s (state);
select cmp_ok(
    (select count(*)::integer from replayed), '>', 5, 'and some were replayed'
);
select is(
    (select s.unarchived_completed_count + s.unarchived_cancelled_count
         + s.scheduled_count + s.queued_count + s.running_count + s.dead_count
     from rota.queue_stats as s where s.queue = 'unkept'),
    (select count(*) from enqueued where queue = 'unkept'),
    'of the queue that keeps no archive every job is counted'
);
select * from finish();
rollback;
