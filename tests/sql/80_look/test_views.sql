begin;
select plan(45);

create or replace function rota._now()
returns timestamptz
language sql
volatile
parallel unsafe
as $$
    select current_setting('test.now')::timestamptz
$$;
set local test.now = '2030-01-01 12:00+00';

/* A scripted history, and then what each view says of it. Views have the real clock. */
do $$
begin
    perform set_config('test.now', (clock_timestamp() - interval '1 h')::text, true);
end;
$$;
create temp table ref as
select
    rota.register_worker('one', '1 day') as one,
    rota.register_worker('two', '1 min') as two,
    rota.register_worker('three', '1 s') as three,
    rota.register_worker('four', '1 day') as four,
    rota._now() as began_at;
do $$
begin
    perform rota.create_queue('a');
    perform rota.create_queue('b', retention => '0');
    perform rota.create_queue('busy');
    perform rota.enqueue_jobs('{done}', array_fill('{}'::jsonb, array[5]), 'a');
    perform rota.claim_jobs(one, '{a}', 5) from ref;
    perform rota.complete_jobs(array_agg(j.id), array_agg(j.execution))
    from rota.jobs as j where j.kind = 'done';
    perform rota.enqueue_jobs(
        '{died}', array_fill('{}'::jsonb, array[2]), 'a', max_attempts => 1
    );
    perform rota.claim_jobs(one, '{a}', 5) from ref;
    perform rota.fail_jobs(array_agg(j.id), array_agg(j.execution),
        array_agg('e'::text))
    from rota.jobs as j where j.kind = 'died';
    perform rota.enqueue_jobs('{lost}', array_fill('{}'::jsonb, array[3]), 'a');
    perform rota.claim_jobs(three, '{a}', 5) from ref;
    perform set_config('test.now', (rota._now() + interval '1 s')::text, true);
    perform rota.reap_workers();
    perform rota.enqueue_jobs(
        '{runs}', array_fill('{}'::jsonb, array[4]), 'a', array_fill(9, array[4])
    );
    perform rota.claim_jobs(one, '{a}', 1) from ref;
    perform rota.claim_jobs(two, '{a}', 3) from ref;
    perform rota.enqueue_jobs(
        '{waits}', array_fill('{}'::jsonb, array[6]), 'a',
        delays => array_fill('1 day'::interval, array[6])
    );
    perform rota.cancel_job(rota.enqueue('stopped', queue => 'a'));
    perform rota.enqueue_jobs('{done}', array_fill('{}'::jsonb, array[7]), 'b');
    perform rota.claim_jobs(one, '{b}', 7) from ref;
    perform rota.complete_jobs(array_agg(j.id), array_agg(j.execution))
    from rota.jobs as j where j.queue = 'b';
    perform rota.cancel_job(rota.enqueue('stopped', queue => 'b'));
    perform rota.enqueue('runs', queue => 'busy');
    perform rota.claim_jobs(one, '{busy}') from ref;
    perform rota.deregister_worker(four) from ref;
end;
$$;

select results_eq(
    $$ select s.queue, s.scheduled_count, s.queued_count, s.running_count, s.dead_count,
           s.unarchived_completed_count, s.unarchived_cancelled_count
       from rota.queue_stats as s where s.queue <> 'default' order by 1 $$,
    $$ values
       ('a', 6::bigint, 3::bigint, 4::bigint, 2::bigint, 0::bigint, 0::bigint),
       ('b', 0, 0, 0, 0, 7, 1),
       ('busy', 0, 0, 1, 0, 0, 0) $$,
    'queue_stats counts what is there, for each queue'
);
select results_eq(
    $$ select s.queue, s.oldest_due_age > interval '30 min'
       from rota.queue_stats as s where s.queue in ('a', 'b', 'busy') order by 1 $$,
    $$ values ('a', true), ('b', false), ('busy', false) $$,
    'and tells for how long the oldest job that waits has been due'
);
select bag_eq(
    $$ select j.kind, j.state, count(*) from rota.jobs as j where j.queue = 'a'
       group by 1, 2 $$,
    $$ values ('done', 'completed', 5::bigint), ('died', 'dead', 2), ('lost', 'queued',
       3),
        ('runs', 'running', 4), ('waits', 'scheduled', 6), ('stopped', 'cancelled',
            1) $$,
    'jobs shows every job that is kept, once, whatever its state'
);
select is(
    (select count(*) from rota.jobs), (select count(distinct j.id) from rota.jobs as j),
    'under one id'
);
select bag_eq(
    $$ select e.outcome, count(*) from rota.executions as e group by 1 $$,
    $$ values ('completed', 5::bigint), ('failed', 2), ('lost', 3), ('running', 5) $$,
    'executions shows every one'
);
select is_empty(
    $$ select * from rota.executions as e
       where (e.outcome = 'running') <> (e.finished_at is null)
           or e.started_at is null or e.worker_id is null $$,
    'with who did it and when'
);
select results_eq(
    $$ select w.name, w.state, w.running_count from rota.worker_status as w
       order by w.id $$,
    $$ values ('one', 'alive', 2::bigint), ('two', 'expired', 3), ('three', 'lost', 0),
        ('four', 'ended', 0) $$,
    'worker_status tells who is alive, silent, lost or gone, and what they hold'
);
select bag_eq(
    $$ select d.queue, d.priority, d.kind, d.reason, d.error, d.attempt, d.max_attempts,
           d.execution
       from rota.dead_letters as d $$,
    $$ values ('a', 0::smallint, 'died', 'attempts_exhausted', 'e', 1, 1, 1),
        ('a', 0, 'died', 'attempts_exhausted', 'e', 1, 1, 1) $$,
    'dead_letters shows the dead'
);
select results_eq(
    $$ select s.queue from rota.queue_settings as s order by 1 $$,
    $$ values ('a'), ('b'), ('busy'), ('default') $$,
    'queue_settings has a row for each queue'
);
select results_eq(
    $$ select rp.policy from rota.retry_policies as rp $$, $$ values ('default') $$,
    'retry_policies one for each policy'
);
select results_eq(
    $$ select * from rota.settings $$,
    $$ values (interval '30 days', interval '7 days', interval '10 s') $$,
    'settings has one row'
);

/* Columns are API. */
select columns_are('rota'::name, v.name::name, v.columns::name[],
    'the columns of ' || v.name)
from (
    values
    ('jobs',
        '{id,state,queue,priority,kind,payload,run_at,created_at,claimed_at,'
        'finished_at,'
        'deadline_at,attempt,max_attempts,execution,lost_count,worker_id,timeout,'
        'idempotency_key,cancel_requested_at,result,reason,error}'),
    ('executions',
        '{job_id,execution,attempt,worker_id,started_at,finished_at,outcome,error}'),
    ('queue_stats',
        '{queue,paused_at,scheduled_count,queued_count,running_count,dead_count,'
        'oldest_due_age,unarchived_completed_count,unarchived_cancelled_count}'),
    ('worker_status',
        '{id,name,state,registered_at,heartbeat_at,lease_expires_at,lease,'
        'lost_at,ended_at,running_count,version}'),
    ('dead_letters',
        '{id,queue,priority,kind,payload,reason,error,attempt,max_attempts,'
        'execution,lost_count,created_at,died_at,idempotency_key}'),
    ('queue_settings',
        '{queue,max_attempts,retry_policy,timeout,max_lost,max_payload_bytes,'
        'retention,is_notifying,created_at}'),
    ('retry_policies',
        '{policy,strategy,base,factor,cap,delays,jitter,jitter_fraction}'),
    ('settings', '{retention,worker_retention,timeout_grace}')
) as v (name, columns);

/* Read as the roles that may, and as those that may not. */
create function pg_temp.tried_as(p_role text, p_statement text)
returns text
language plpgsql
as $$
begin
    execute format('set local role %I', p_role);
    execute p_statement;
    reset role;
    return 'done';
exception
    when insufficient_privilege then
        return 'refused';
end;
$$;
select is(
    pg_temp.tried_as(t.role, t.statement), t.answer,
    format('%s: %s is %s', t.role, t.statement, t.answer)
)
from (
    values
    ('rota_observer', 'select * from rota.jobs', 'done'),
    ('rota_observer', 'select * from rota.executions', 'done'),
    ('rota_observer', 'select * from rota.queue_stats', 'done'),
    ('rota_observer', 'select * from rota.worker_status', 'done'),
    ('rota_observer', 'select * from rota.dead_letters', 'done'),
    ('rota_observer', 'select * from rota.job', 'refused'),
    ('rota_observer', 'update rota.settings set retention = ''1 day''', 'refused'),
    ('rota_observer', 'select rota.enqueue(''k'')', 'refused'),
    ('rota_operator', 'select * from rota.jobs', 'done'),
    ('rota_operator', 'delete from rota.dead_letter', 'refused'),
    ('rota_operator', 'select rota.enqueue(''k'')', 'done'),
    ('rota_operator', 'select rota.purge_dead(kind => ''k'')', 'done'),
    ('rota_operator', 'select rota.register_worker(''w'')', 'refused'),
    ('rota_worker', 'select rota.register_worker(''w'')', 'done'),
    ('rota_worker', 'select rota.maintain()', 'done'),
    ('rota_worker', 'update rota.job set state = ''queued''', 'refused'),
    ('rota_worker', 'select nextval(''rota.position_seq'')', 'refused'),
    ('rota_worker', 'select rota._now()', 'refused'),
    ('rota_worker', 'select rota.enqueue(''k'')', 'refused'),
    ('rota_worker', 'select rota.pause_queue(''a'')', 'refused'),
    ('rota_producer', 'select rota.enqueue(''k'')', 'done'),
    ('rota_producer', 'select rota.version()', 'done'),
    ('rota_producer', 'select * from rota.jobs', 'refused'),
    ('rota_producer', 'insert into rota.tally values (1, 1, 1)', 'refused'),
    ('rota_producer', 'select rota.claim_jobs(1)', 'refused'),
    ('rota_producer', 'select rota.create_queue(''x'')', 'refused')
) as t (role, statement, answer);
select * from finish();
rollback;
