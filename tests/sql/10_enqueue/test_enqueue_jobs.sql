begin;
select plan(49);

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
    perform rota.create_queue('mail', max_attempts => 4, timeout => '1 minute');
    perform rota.create_queue('small', max_payload_bytes => 10);
end;
$$;

create temp table made as
select *
from rota.enqueue_jobs(
    array['a', 'b', 'c', 'd'],
    array['{"n": 1}', '{"n": 2}', '{"n": 3}', 'null']::jsonb[],
    queue => 'mail',
    priorities => array[0, 5, -5, 0],
    run_ats => array[null, '2030-01-01 13:00+00', null,
        '2029-01-01 00:00+00']::timestamptz[],
    delays => array['1 minute', null, null, null]::interval[],
    max_attempts => 3,
    retry_policy => 'default'
) with ordinality as e (id, is_new, number);

select results_eq(
    'select is_new, number from made',
    'select true, g from generate_series(1::bigint, 4) as g',
    'every row of the batch is answered, in order, as new'
);
select results_eq(
    $$ select j.kind, j.payload, j.priority, j.state, j.run_at, j.max_attempts,
       j.timeout
       from made inner join rota.jobs as j using (id) order by made.number $$,
    $$ values
       ('a', '{"n": 1}'::jsonb, 0::smallint, 'scheduled',
           timestamptz '2030-01-01 12:01+00', 3, interval '1 minute'),
       ('b', '{"n": 2}', 5::smallint, 'scheduled', '2030-01-01 13:00+00', 3,
           '1 minute'),
       ('c', '{"n": 3}', -5::smallint, 'queued', '2030-01-01 12:00+00', 3, '1 minute'),
       ('d', 'null', 0::smallint, 'queued', '2029-01-01 00:00+00', 3, '1 minute') $$,
    'each row has its own kind, payload, priority and time'
);
create temp table kept as
select e.*
from rota.enqueue_jobs(array['one'], array['1', '2', '3']::jsonb[])
    with ordinality as e (id, is_new, number);
select results_eq(
    $$ select j.kind, j.payload
       from kept inner join rota.jobs as j using (id) order by kept.number $$,
    $$ values ('one', '1'::jsonb), ('one', '2'), ('one', '3') $$,
    'one kind stands for all'
);
select is_empty(
    $$ select * from rota.enqueue_jobs('{}', '{}') $$, 'an empty batch is fine'
);
select is(
    (select count(*)::integer from rota.enqueue_jobs(
        array['big'], array_fill('{}'::jsonb, array[5000]))),
    5000,
    'a batch may be large'
);
select is(
    (select count(distinct j.id)::integer from rota.jobs as j where j.kind = 'big'),
    5000,
    'and all of it is stored'
);

/* Keys in a batch. */
create temp table keyed as
select e.*
from rota.enqueue_jobs(
    array['x', 'y', 'z', 'u', 'v'],
    array['1', '2', '3', '4', '5']::jsonb[],
    idempotency_keys => array['q', 'p', 'q', null, 'p']
) with ordinality as e (id, is_new, number);

select results_eq(
    'select is_new from keyed order by number',
    'values (true), (true), (false), (true), (false)',
    'of rows with one key, the first of a batch is new and the rest are repetitions'
);
select results_eq(
    $$ select a.number, b.number from keyed as a inner join keyed as b using (id)
       where a.number < b.number order by 1 $$,
    'values (1::bigint, 3::bigint), (2, 5)',
    'repetitions are answered with the id of the first'
);
select results_eq(
    $$ select j.kind, j.payload, j.idempotency_key
       from rota.jobs as j where j.id in (select id from keyed) order by j.kind $$,
    $$ values ('u', '4'::jsonb, null::text), ('x', '1', 'q'), ('y', '2', 'p') $$,
    'the first of a key is what is stored, and rows without a key always are'
);
select results_eq(
    $$ select e.is_new, k.number
       from rota.enqueue_jobs(array['w'], array['9', '9']::jsonb[],
           idempotency_keys => array['p', 'q']) with ordinality as e (id, is_new,
               number)
       inner join keyed as k on k.id = e.id and k.is_new
       order by e.number $$,
    'values (false, 2::bigint), (false, 1)',
    'a later batch gets the ids of the jobs that have its keys'
);
select lives_ok(
    $$ select * from rota.enqueue_jobs(array['r1', 'r2'], array['7', '8']::jsonb[],
           idempotency_keys => array['p', 'p'], on_duplicate => 'replace') $$,
    'a batch may replace'
);
select results_eq(
    $$ select j.kind, j.payload from rota.jobs as j where j.idempotency_key = 'p' $$,
    $$ values ('r2', '8'::jsonb) $$,
    'the last replacement of a key stands'
);
select throws_ok(
    $$ select * from rota.enqueue_jobs(array['k'], array['7', '8']::jsonb[],
           idempotency_keys => array['fresh', 'q'], on_duplicate => 'reject') $$,
    'RT009', null,
    'one duplicate of a batch that rejects them refuses it'
);
select throws_ok(
    $$ select * from rota.enqueue_jobs(array['k'], array['7', '8']::jsonb[],
           idempotency_keys => array['twice', 'twice'], on_duplicate => 'reject') $$,
    'RT009', null,
    'even if the duplicates are both in the batch'
);
select is_empty(
    $$ select * from rota.jobs where idempotency_key in ('fresh', 'twice') $$,
    'and nothing of it is stored'
);

create temp table before_refusals as
select count(*) as jobs from rota.jobs;

select throws_ok(
    format('select * from rota.enqueue_jobs(%s)', b.arguments), b.code, b.message,
    format('refused with %s: %s', b.code, left(b.arguments, 70))
)
from (
    values
    ('null, null', '22023', null::text),
    ('array[''k''], null', '22023', null),
    ('null, array[''{}'']::jsonb[]', '22023', null),
    ('''{}'', array[''{}'']::jsonb[]', '22023', null),
    ('array[''k''], ''{}''', '22023', null),
    ('array[''a'', ''b''], array[''{}'']::jsonb[]', '22023', null),
    ('array[''a'', ''b''], array[''{}'', ''{}'', ''{}'']::jsonb[]', '22023', null),
    ('array[''a''], array[''{}'']::jsonb[], priorities => array[1, 2]', '22023', null),
    ('array[''a''], array[''{}'']::jsonb[], priorities => ''{}''', '22023', null),
    ('array[''a''], array[''{}'']::jsonb[], run_ats => array[now(), now()]', '22023',
        null),
    ('array[''a''], array[''{}'']::jsonb[],'
        ' delays => array[''1 s'', ''1 s'']::interval[]',
        '22023', null),
    ('array[''a''], array[''{}'']::jsonb[], idempotency_keys => array[''k'', ''l'']',
        '22023', null),
    ('array[null, ''b''], array[''{}'', ''{}'']::jsonb[]', '22023',
        'invalid jobs[1].kind'),
    ('array[null::text], array[''{}'', ''{}'']::jsonb[]', '22023',
        'invalid jobs[1].kind'),
    ('array[array[''a'']], array[''{}'']::jsonb[]', '22023', 'invalid jobs[1].kind'),
    ('''[0:0]={a}''::text[], array[''{}'']::jsonb[]', '22023', 'invalid jobs[1].kind'),
    ('array[''a'', ''''], array[''{}'', ''{}'']::jsonb[]', '22023',
        'invalid jobs[2].kind'),
    ('array[''a''], array[''{}'', null]::jsonb[]', '22023', 'invalid jobs[2].payload'),
    ('array[''a''], array[''1'', ''"xxxxxxxxx"'']::jsonb[], queue => ''small''',
        'RT008',
        'jobs[2].payload too large'),
    ('array[''a''], array[''{}'', ''{}'']::jsonb[], priorities => array[0, null]',
        '22023',
        'invalid jobs[2].priority'),
    ('array[''a''], array[''{}'', ''{}'']::jsonb[],'
        ' run_ats => array[now(), ''infinity'']', '22023', 'invalid jobs[2].run_at'),
    ('array[''a''], array[''{}'']::jsonb[], run_ats => array[now()],'
        ' delays => array[''1 s'']::interval[]', '22023', 'invalid jobs[1].delay'),
    ('array[''a''], array[''{}'', ''{}'']::jsonb[],'
        ' delays => array[''1 s'', ''-1 s'']::interval[]', '22023',
            'invalid jobs[2].delay'),
    ('array[''a''], array[''{}'', ''{}'']::jsonb[],'
        ' idempotency_keys => array[''k'', '''']', '22023',
        'invalid jobs[2].idempotency_key'),
    ('array[''a''], array[''{}'']::jsonb[], queue => ''none''', 'RT003', null),
    ('array[''a''], array[''{}'']::jsonb[], queue => null', '22023', null),
    ('array[''a''], array[''{}'']::jsonb[], on_duplicate => ''x''', '22023', null),
    ('array[''a''], array[''{}'']::jsonb[], on_duplicate => null', '22023', null),
    ('array[''a''], array[''{}'']::jsonb[], max_attempts => 0', '22023', null),
    ('array[''a''], array[''{}'']::jsonb[], retry_policy => ''x''', '42704', null),
    ('array[''a''], array[''{}'']::jsonb[], timeout => ''0''', '22023', null),
    ('array[''a''], array[''{}'']::jsonb[], key_ttl => ''-1 s''', '22023', null)
) as b (arguments, code, message);
select is(
    (select count(*) from rota.jobs), b.jobs, 'nothing of a refused batch was stored'
)
from before_refusals as b;
select results_eq(
    $$ select count(*)::integer from rota.enqueue_jobs(
        array[array['a', 'b'], array['c', 'd']],
        array[array['{}', '{}'], array['{}', '{}']]::jsonb[]) $$,
    'values (4)',
    'arrays of several dimensions are read in order'
);
select * from finish();
rollback;
