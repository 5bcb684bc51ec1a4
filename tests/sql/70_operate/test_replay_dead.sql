begin;
select plan(41);

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

/* Dead jobs, one a second, of two queues and two kinds. */
create function pg_temp.die(p_kind text, p_queue text, p_key text, p_payload jsonb)
returns bigint
language plpgsql
as $$
declare
    v_id bigint;
begin
    perform set_config('test.now', (rota._now() + interval '1 s')::text, true);
    v_id := rota.enqueue(
        p_kind, p_payload, p_queue, 7, idempotency_key => p_key, key_ttl => '1 min',
        max_attempts => 2, retry_policy => 'own', timeout => '1 h'
    );
    perform rota.claim_jobs(worker, array[p_queue]) from ref;
    perform rota.fail_job(v_id, 1, 'first', delay => '0');
    perform rota.claim_jobs(worker, array[p_queue]) from ref;
    perform rota.fail_job(v_id, 2, 'second');
    return v_id;
end;
$$;
do $$
begin
    perform rota.create_retry_policy('own', 'fixed', base => '9 s', jitter => 'none');
    perform rota.create_queue('q', max_payload_bytes => 40);
    perform rota.create_queue('r');
end;
$$;
create temp table dead as
select
    d.kind,
    pg_temp.die(d.kind, d.queue, d.key, d.payload) as id
from (
    values
    ('one', 'q', 'key one', '{"a": 1, "b": 2}'::jsonb),
    ('two', 'q', null, '{}'),
    ('three', 'r', null, '{}'),
    ('four', 'r', null, '[1]'),
    ('five', 'r', 'key five', '{}')
) as d (kind, queue, key, payload);
create function pg_temp.id(p_kind text)
returns bigint
language sql
as $$
    select id from dead where kind = p_kind
$$;
set local test.now = '2030-01-01 12:00:30+00';

select results_eq(
    $$ select r.id, r.state, r.run_at from rota.replay_dead(array[pg_temp.id('one'),
       0]) as r $$,
    $$ values (pg_temp.id('one'), 'queued', timestamptz '2030-01-01 12:00:30+00') $$,
    'a replayed job is queued under its own id'
);
select results_eq(
    $$ select j.state, j.queue, j.priority, j.kind, j.payload, j.attempt,
       j.max_attempts,
           j.execution, j.lost_count, j.timeout, j.idempotency_key, j.created_at
       from rota.jobs as j where j.id = pg_temp.id('one') $$,
    $$ values ('queued', 'q', 7::smallint, 'one', '{"a": 1, "b": 2}'::jsonb, 0, 2, 2, 0,
           interval '1 h', 'key one', timestamptz '2030-01-01 12:00:01+00') $$,
    'with all its settings, its attempts afresh, its executions counted on'
);
select is(
    rota.enqueue('other', queue => 'q', idempotency_key => 'key one'),
        pg_temp.id('one'),
    'it has its key again'
);
select is_empty(
    $$ select * from rota.dead_letters where id = pg_temp.id('one') $$,
    'it is no longer a dead letter'
);
select throws_ok(
    $$ select rota.complete_job(pg_temp.id('one'), 2) $$, 'RT001', null,
    'its old token stays void'
);
select results_eq(
    $$ select c.id, c.execution, c.attempt
       from ref cross join lateral rota.claim_jobs(worker, '{q}') as c $$,
    $$ values (pg_temp.id('one'), 3, 1) $$,
    'it runs again'
);
select is(
    (select f.run_at from rota.fail_job(pg_temp.id('one'), 3, 'third') as f),
    '2030-01-01 12:00:39+00', 'by the retry policy it had'
);
select results_eq(
    $$ select e.execution, e.error from rota.executions as e
       where e.job_id = pg_temp.id('one') order by 1 $$,
    $$ values (1, 'first'), (2, 'second'), (3, 'third') $$,
    'all its executions are on record'
);
select is_empty(
    $$ select * from rota.replay_dead(array[pg_temp.id('one')]) $$,
    'a job that lives is not replayed'
);

/* Patched. */
select results_eq(
    $$ select r.state from rota.replay_dead(array[pg_temp.id('two')],
        payload_patch => '{"fixed": true}') as r $$,
    $$ values ('queued') $$,
    'a payload can be patched on the way'
);
select is(
    (select j.payload from rota.jobs as j where j.id = pg_temp.id('two')),
    '{"fixed": true}'::jsonb, 'it then has the new members'
);
do $$
begin
    perform rota.claim_jobs(worker, '{q}') from ref;
    perform rota.fail_job(pg_temp.id('two'), 3, 'e', false);
    perform rota.replay_dead(
        array[pg_temp.id('two')], payload_patch => '{"fixed": 1, "more": null}'
    );
end;
$$;
select is(
    (select j.payload from rota.jobs as j where j.id = pg_temp.id('two')),
    '{"fixed": 1, "more": null}'::jsonb, 'members of the same name are replaced'
);

/* Filters; a savepoint keeps the dead for each. */
savepoint filtered;
select results_eq(
    $$ select k.kind from rota.replay_dead(queue => 'r') as r
       inner join dead as k using (id)
       order by k.id $$,
    $$ values ('three'), ('four'), ('five') $$,
    'a whole queue is replayed'
);
select results_eq(
    $$ select k.kind from rota.job as j inner join dead as k using (id)
       where j.state = 'queued' and k.kind in ('three', 'four', 'five')
       order by j.position $$,
    $$ values ('three'), ('four'), ('five') $$,
    'those that died first run first'
);
rollback to filtered;
select results_eq(
    $$ select k.kind from rota.replay_dead(kind => 'four') as r
       inner join dead as k using (id) $$,
    $$ values ('four') $$,
    'or a kind'
);
rollback to filtered;
select is(
    (select count(*)::integer from rota.replay_dead(reason => 'attempts_exhausted')), 3,
    'or a reason'
);
rollback to filtered;
select is_empty(
    $$ select * from rota.replay_dead(reason => 'worker_lost') $$, 'and no other'
);
select is_empty(
    $$ select * from rota.replay_dead(queue => 'r', kind => 'one') $$,
    'all filters must hold'
);
select is_empty($$ select * from rota.replay_dead('{}') $$, 'no ids are no jobs');
select results_eq(
    $$ select k.kind from rota.replay_dead(queue => 'r', max_jobs => 2) as r
       inner join dead as k using (id) order by k.id $$,
    $$ values ('three'), ('four') $$,
    'no more than asked for, the oldest deaths first'
);
rollback to filtered;

/* Keys. */
create temp table rival as
select rota.enqueue('rival', queue => 'r', idempotency_key => 'key five') as id;
select is(
    (select id from rival), pg_temp.id('five'),
    'while its time to live lasts the key stands for the dead job'
);
set local test.now = '2030-01-01 12:10+00';
do $$
begin
    update rival set id = rota.enqueue('rival', queue => 'r',
        idempotency_key => 'key five');
end;
$$;
select isnt((select id from rival), pg_temp.id('five'), 'then another job may have it');
select is_empty(
    $$ select * from rota.replay_dead(array[pg_temp.id('five')]) $$,
    'and the dead one stays dead'
);
select is(
    (select count(*)::integer from rota.dead_letters where id = pg_temp.id('five')), 1,
    'unharmed'
);
do $$
begin
    perform rota.cancel_job(id) from rival;
end;
$$;
select results_eq(
    $$ select r.id from rota.replay_dead(array[pg_temp.id('five')]) as r $$,
    $$ values (pg_temp.id('five')) $$,
    'until the key is free again'
);
do $$
begin
    perform rota.cancel_jobs(array[pg_temp.id('two'), pg_temp.id('five')]);
end;
$$;
create temp table same_key as
select
    pg_temp.die('first', 'r', 'shared', '{}') as first,
    null::bigint as second;
set local test.now = '2030-01-01 12:20+00';
do $$
begin
    update same_key set second = pg_temp.die('second', 'r', 'shared', '{}');
end;
$$;
select results_eq(
    $$ select r.id from same_key
       cross join lateral rota.replay_dead(array[second, first]) as r $$,
    'select second from same_key',
    'of two dead jobs of one key, the one whose key still stands for it is replayed'
);

select throws_ok(
    format('select * from rota.replay_dead(%s)', b.arguments), b.code, null,
    format('refused with %s: %s', b.code, b.arguments)
)
from (
    values
    ('', '22023'),
    ('payload_patch => ''{}''', '22023'),
    ('max_jobs => 5', '22023'),
    ('queue => ''none''', 'RT003'),
    ('queue => ''''', 'RT003'),
    ('queue => ''r'', max_jobs => 0', '22023'),
    ('queue => ''r'', max_jobs => -1', '22023'),
    ('queue => ''r'', max_jobs => null', '22023'),
    ('queue => ''r'', payload_patch => ''[]''', '22023'),
    ('queue => ''r'', payload_patch => ''null''', '22023'),
    ('queue => ''r'', payload_patch => ''"x"''', '22023'),
    ('queue => ''r'', payload_patch => ''{"a": 1}''', '22023')
) as b (arguments, code);
do $$
begin
    perform pg_temp.die('limited', 'q', null, '{"a": "xxxxxxxxxxxxxxxxxxxx"}');
end;
$$;
select throws_ok(
    $$ select * from rota.replay_dead(queue => 'q',
       payload_patch => '{"b": "yyyyyyyyyy"}') $$,
    'RT008', null, 'a patch may not make the payload larger than the queue takes'
);
select is(
    (select count(*)::integer from rota.dead_letters
    where kind in ('limited', 'four')), 2,
    'nothing that was refused was replayed'
);
select lives_ok(
    $$ select * from rota.replay_dead(
        array[array[0, null]], kind => 'x''; drop table rota.job; --',
        max_jobs => 2147483647) $$,
    'filters are values'
);
select * from finish();
rollback;
