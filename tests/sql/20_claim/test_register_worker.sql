begin;
select plan(29);

create or replace function rota._now()
returns timestamptz
language sql
volatile
parallel unsafe
as $$
    select current_setting('test.now')::timestamptz
$$;
set local test.now = '2030-01-01 12:00+00';

create temp table made as
select
    rota.register_worker('host:1') as first,
    rota.register_worker('host:1', '1 minute') as second;

select isnt(first, second, 'two workers of one name are two workers') from made;
select results_eq(
    $$ select w.name, w.lease, w.registered_at, w.heartbeat_at, w.lease_expires_at,
           w.lost_at, w.ended_at, w.running_count
       from rota.worker_status as w, made where w.id = made.first $$,
    $$ values ('host:1', interval '30 s', timestamptz '2030-01-01 12:00+00',
           timestamptz '2030-01-01 12:00+00', timestamptz '2030-01-01 12:00:30+00',
           null::timestamptz, null::timestamptz, 0::bigint) $$,
    'a worker begins with a lease of 30 seconds'
);
select is(
    (select w.lease_expires_at from rota.worker_status as w, made
    where w.id = made.second),
    '2030-01-01 12:01+00',
    'or with the one it asks for'
);
select lives_ok(
    format('select rota.register_worker(''w'', %L)', l.lease),
    format('a lease of %s is granted', l.lease)
)
from (values ('100 ms'), ('1 day'), ('24 hours')) as l (lease);
select is(
    (select w.name from rota.worker_status as w
     where w.id = (select max(v.id) from rota.worker_status as v)),
    'w', 'the newest worker has the highest id'
);
select throws_ok(
    format('select rota.register_worker(%s)', b.arguments), b.code, null,
    format('refused with %s: %s', b.code, b.arguments)
)
from (
    values
    ('null', '22023'),
    ('''''', '22023'),
    ('e'' \t''', '22023'),
    ('e''a\nb''', '22023'),
    ('repeat(''w'', 201)', 'RT008'),
    ('''w'', null', '22023'),
    ('''w'', version => ''''', '22023'),
    ('''w'', version => repeat(''1'', 101)', 'RT008'),
    ('''w'', ''0''', '22023'),
    ('''w'', ''-1 s''', '22023'),
    ('''w'', ''99 ms''', '22023'),
    ('''w'', ''1 day 1 microsecond''', '22023'),
    ('''w'', ''1000000 years''', '22023'),
    ('''w'', ''1000000 years -359999999 days''', '22023'),
    ('''w'', ''-1 year 361 days''', '22023')
) as b (arguments, code);
select is(
    (select count(*)::integer from rota.worker_status), 5,
    'no worker was registered by a call that was refused'
);
select is(
    (select w.version from rota.worker_status as w, made where w.id = made.first),
    null, 'a worker need not say which version it runs'
);
select lives_ok(
    $$ select rota.register_worker('v', version => '1.2.3') $$, 'but it may'
);
select is(
    (select w.version from rota.worker_status as w where w.name = 'v'), '1.2.3',
    'and worker_status shows it'
);
select lives_ok(
    $$ select rota.register_worker('x''; drop table rota.worker; --') $$,
    'a name that looks like SQL is a name'
);
select is(
    (select count(*)::integer from rota.worker_status as w
     where w.name = 'x''; drop table rota.worker; --'),
    1, 'and is stored as it stands'
);
select has_table('rota'::name, 'worker'::name, 'nothing was executed');
select * from finish();
rollback;
