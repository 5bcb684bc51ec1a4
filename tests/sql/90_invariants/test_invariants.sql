begin;
select plan(31);

create or replace function rota._now()
returns timestamptz
language sql
volatile
parallel unsafe
as $$
    select current_setting('test.now')::timestamptz
$$;
set local test.now = '2030-01-01 12:00+00';

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

/* What must hold at any moment; a row is a violation. */
create temp view violation as
select 'a job is in one place at most' as invariant, p.id
from (
    select j.id from rota.job as j
    union all
    select a.id from rota.archive as a
    union all
    select d.id from rota.dead_letter as d
) as p
group by p.id
having count(*) > 1
union all
select 'no job vanishes', e.id
from enqueued as e
where e.queue <> 'unkept'
    and not exists (select from rota.jobs as j where j.id = e.id)
union all
select 'no job appears from nowhere', j.id
from rota.jobs as j
where not exists (select from enqueued as e where e.id = j.id)
union all
select 'executions have no gaps and no repetitions', j.id
from rota.jobs as j
left join rota.executions as e on e.job_id = j.id
group by j.id, j.execution
having count(e.execution) <> j.execution
    or coalesce(max(e.execution), 0) <> j.execution
    or count(distinct e.execution) <> count(e.execution)
union all
select 'no execution ends before it starts, or starts before the last ended', e.job_id
from (
    select
        x.*,
        lag(x.finished_at) over (partition by x.job_id
        order by x.execution) as ended_before
    from rota.executions as x
) as e
where e.finished_at < e.started_at or e.started_at < e.ended_before
union all
select 'charged attempts are the failures, plus the one that runs or has ended', j.id
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
select 'nobody is charged more than allowed', j.id
from rota.jobs as j
where j.attempt > j.max_attempts
union all
select 'a running job has a worker that is neither lost nor gone', j.id
from rota.job as j
left join rota.worker as w on w.id = j.worker_id
where j.state = 'running' and (w.id is null or w.ended_at is not null
    or w.lost_at is not null)
union all
select 'a waiting job has no worker, claim, deadline or cancellation', j.id
from rota.job as j
where j.state <> 'running'
    and num_nonnulls(
        j.worker_id, j.claimed_at, j.deadline_at, j.cancel_requested_at, j.cancel_reason
    ) > 0
union all
select 'a queued job is due and has a place', j.id
from rota.job as j
where j.state = 'queued' and (j.run_at > rota._now() or j.position is null)
union all
select 'no two queued jobs have one place', j.position
from rota.job as j
where j.state = 'queued'
group by j.position
having count(*) > 1
union all
select 'a key of a live job is that job''s', j.id
from rota.job as j
inner join rota.lane as l on l.id = abs(j.lane_id)
where j.idempotency_key is not null
    and not exists (
        select from rota.idempotency_key as k
        where k.queue_id = l.queue_id
            and k.key = j.idempotency_key
            and k.job_id = j.id
            and k.expires_at is null
    )
union all
select 'no two live jobs of a queue have one key', min(j.id)
from rota.job as j
inner join rota.lane as l on l.id = abs(j.lane_id)
where j.idempotency_key is not null
group by l.queue_id, j.idempotency_key
having count(*) > 1
union all
select 'a key that does not expire belongs to a live job', k.job_id
from rota.idempotency_key as k
where k.expires_at is null and not exists (select from rota.job as j
    where j.id = k.job_id)
union all
select 'every job belongs to a lane of a queue', j.id
from rota.job as j
where not exists (select from rota.lane as l where l.id = abs(j.lane_id));

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

create temp table broken (number integer, invariant text, id bigint);
do $$
begin
    for i in 1..60 loop
        perform pg_temp.round(i);
        insert into broken select i, v.invariant, v.id from violation as v;
    end loop;
end;
$$;
select is_empty(
    format('select number, id from broken where invariant = %L', i.invariant),
        i.invariant
)
from (
    values
    ('a job is in one place at most'),
    ('no job vanishes'),
    ('no job appears from nowhere'),
    ('executions have no gaps and no repetitions'),
    ('no execution ends before it starts, or starts before the last ended'),
    ('charged attempts are the failures, plus the one that runs or has ended'),
    ('nobody is charged more than allowed'),
    ('a running job has a worker that is neither lost nor gone'),
    ('a waiting job has no worker, claim, deadline or cancellation'),
    ('a queued job is due and has a place'),
    ('no two queued jobs have one place'),
    ('a key of a live job is that job''s'),
    ('no two live jobs of a queue have one key'),
    ('a key that does not expire belongs to a live job'),
    ('every job belongs to a lane of a queue')
) as i (invariant);
select is_empty('select * from broken', 'nothing else is broken');

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
