begin;
select plan(51);

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

/* Bring a new job with p_state for its key and its queue into that state. */
create function pg_temp.job_that_is(p_state text)
returns bigint
language plpgsql
as $$
declare
    v_id bigint;
begin
    perform rota.create_queue(p_state);
    v_id := rota.enqueue(
        'k', queue => p_state, idempotency_key => p_state,
        delay => case p_state when 'scheduled' then interval '1 h' end,
        key_ttl => case when p_state like '%-ttl' then interval '1 h' end
    );
    if p_state in ('scheduled', 'queued') then
        return v_id;
    elsif p_state = 'cancelled' then
        perform rota.cancel_job(v_id);
        return v_id;
    end if;
    perform rota.claim_jobs(worker, array[p_state]) from ref;
    case p_state
        when 'running' then null;
        when 'retrying' then perform rota.fail_job(v_id, 1, 'error');
        when 'completed', 'completed-ttl' then perform rota.complete_job(v_id, 1);
        else perform rota.fail_job(v_id, 1, 'error', retryable => false);
    end case;
    if p_state like 'purged%' then
        perform rota.purge_dead(array[v_id]);
    end if;
    return v_id;
end;
$$;

create function pg_temp.enqueue_again(p_state text, p_on_duplicate text)
returns text
language plpgsql
as $$
declare
    v_old constant bigint := (select m.id from made as m where m.state = p_state);
    v_new bigint;
begin
    v_new := rota.enqueue(
        'new', '{"new": true}', p_state, 5, idempotency_key => p_state,
        on_duplicate => p_on_duplicate
    );
    return case when v_new = v_old then 'same' else 'new' end;
exception
    when sqlstate 'RT005' or sqlstate 'RT009' then
        return sqlstate;
end;
$$;

create temp table expected as
select e.*
from (
    values
    (1, 'scheduled', 'same', 'RT009', 'same'),
    (2, 'queued', 'same', 'RT009', 'same'),
    (3, 'retrying', 'same', 'RT009', 'same'),
    (4, 'running', 'same', 'RT009', 'RT005'),
    (5, 'completed', 'new', 'new', 'new'),
    (6, 'completed-ttl', 'same', 'RT009', 'RT005'),
    (7, 'cancelled', 'new', 'new', 'new'),
    (8, 'dead', 'new', 'new', 'new'),
    (9, 'dead-ttl', 'same', 'RT009', 'RT005'),
    (10, 'purged', 'new', 'new', 'new'),
    (11, 'purged-ttl', 'same', 'RT009', 'RT005')
) as e (number, state, kept, rejected, replaced);

create temp table made as
select
    e.state,
    pg_temp.job_that_is(e.state) as id
from expected as e;

/* Each question is asked of the same jobs and then taken back. */
savepoint asked;
select is(
    pg_temp.enqueue_again(e.state, 'keep'), e.kept,
    format('keep, where the job that had the key is %s: %s', e.state, e.kept)
)
from expected as e
order by e.number;
select is_empty(
    $$ select j.id from rota.jobs as j inner join made as m using (id)
       where j.kind <> 'k' or j.priority <> 0 or j.payload <> '{}' $$,
    'keep changes nothing about the job that is kept'
);
rollback to asked;
select is(
    pg_temp.enqueue_again(e.state, 'reject'), e.rejected,
    format('reject, where the job that had the key is %s: %s', e.state, e.rejected)
)
from expected as e
order by e.number;
rollback to asked;
select is(
    pg_temp.enqueue_again(e.state, 'replace'), e.replaced,
    format('replace, where the job that had the key is %s: %s', e.state, e.replaced)
)
from expected as e
order by e.number;
select set_eq(
    $$ select m.state as was, j.state, j.kind, j.payload, j.priority, j.attempt,
       j.run_at
       from rota.jobs as j inner join made as m using (id) where j.kind = 'new' $$,
    $$ select s.was, e.*
       from unnest('{scheduled,queued,retrying}'::text[]) as s (was)
       cross join (
           values ('queued', 'new', '{"new": true}'::jsonb, 5::smallint, 0, rota._now())
       ) as e $$,
    'a replaced job is as if it had just been enqueued, under its old id'
);
select is(
    (select j.execution from rota.jobs as j inner join made as m using (id)
     where m.state = 'retrying'),
    1,
    'its executions are counted on, so that old tokens stay void'
);
rollback to asked;

/* Replacing may also put off. */
select is(
    rota.enqueue('later', queue => 'queued', delay => '1 h',
        idempotency_key => 'queued',
        on_duplicate => 'replace'),
    (select id from made where state = 'queued'),
    'a queued job can be replaced by one that is due later'
);
select is_empty(
    $$ select c.* from ref cross join lateral rota.claim_jobs(ref.worker,
       '{queued}') as c $$,
    'and is not handed out before that'
);

/* Keys are the queue's own. */
select is(
    (select j.id from rota.jobs as j where j.idempotency_key = 'queued')
        = rota.enqueue('k', queue => 'dead', idempotency_key => 'queued'),
    false,
    'another queue may use the same key'
);

/* The time to live counts from the end of the job. */
set local test.now = '2030-01-01 12:59:59.999999+00';
select is(
    pg_temp.enqueue_again('completed-ttl', 'keep'), 'same',
    'until its time to live ends, a key stands for the job that has ended'
);
set local test.now = '2030-01-01 13:00+00';
select is(
    pg_temp.enqueue_again('completed-ttl', 'keep'), 'new',
    'when its time to live ends, the key is free'
);
select is(
    pg_temp.enqueue_again('dead-ttl', 'reject'), 'new',
    'whether or not anybody has purged it'
);
select cmp_ok(rota.purge_keys(), '>', 0, 'expired keys are purged');
select is_empty(
    $$ select * from rota.idempotency_key where expires_at <= rota._now() $$,
    'all of them'
);
select bag_eq(
    $$ select ik.key from rota.idempotency_key as ik $$,
    $$ select j.idempotency_key from rota.jobs as j
       where j.state in ('scheduled', 'queued', 'running') $$,
    'and none of a live job'
);
select is(
    pg_temp.enqueue_again('running', 'keep'), 'same', 'a running job still has its key'
);

/* A job that ends later frees only what is still its own. */
do $$
begin
    perform rota.fail_job(m.id, 1, 'late') from made as m where m.state = 'running';
end;
$$;
select is(
    pg_temp.enqueue_again('running', 'keep'), 'same',
    'and keeps it while it waits for its next attempt'
);

/* A worker that is lost takes no key with it. */
create temp table orphan as
select
    rota.register_worker('short', '1 s') as worker,
    rota.enqueue('k', idempotency_key => 'orphan') as id;
do $$
begin
    perform rota.claim_jobs(worker) from orphan;
    perform set_config('test.now', (rota._now() + interval '1 min')::text, true);
end;
$$;
select is(
    (select r.job_count from rota.reap_workers() as r), 1, 'a worker is lost'
);
select is(
    rota.enqueue('k', idempotency_key => 'orphan'), o.id,
    'its job, which waits again, still has its key'
)
from orphan as o;
do $$
begin
    perform rota.claim_jobs(worker) from ref;
    perform rota.complete_job(id, 2) from orphan;
end;
$$;
select is(
    (select j.state from rota.jobs as j inner join orphan using (id)), 'completed',
    'another worker completes it'
);
select isnt(
    rota.enqueue('k', idempotency_key => 'orphan'), o.id, 'and then the key is free'
)
from orphan as o;
select * from finish();
rollback;
