begin;
select plan(40);

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
    perform rota.create_retry_policy('slow', base => '1 h');
    perform rota.create_queue('plain');
    perform rota.create_queue(
        'full', max_attempts => 3, retry_policy => 'slow', timeout => '1 min',
            max_lost => 2,
        max_payload_bytes => 100, retention => '1 day', is_notifying => false
    );
end;
$$;

select results_eq(
    $$ select * from rota.queue_settings where queue in ('plain', 'full')
       order by queue $$,
    $$ values
       ('full', 3, 'slow', interval '1 min', 2, 100, interval '1 day', false,
           timestamptz '2030-01-01 12:00+00'),
       ('plain', 10, 'default', null, 5, 2097152, null, true, '2030-01-01 12:00+00') $$,
    'a queue has the settings it was given, and the default for the rest'
);
select results_eq(
    $$ select s.paused_at, s.scheduled_count, s.queued_count, s.running_count,
       s.dead_count
       from rota.queue_stats as s where s.queue = 'plain' $$,
    'values (null::timestamptz, 0::bigint, 0::bigint, 0::bigint, 0::bigint)',
    'it begins empty and not paused'
);
select lives_ok(format('select rota.create_queue(%L)', n.name),
    'a queue may be called ' || n.name)
from (
    values
    ('a'), ('7'), ('A'), ('mail.eu-west:bulk/1'), ('a_b'), (repeat('q', 100))
) as n (name);
select throws_ok(
    $$ select rota.create_queue('plain', max_attempts => 99) $$, '42710', null,
    'a queue is not made twice'
);
select is(
    (select s.max_attempts from rota.queue_settings as s where s.queue = 'plain'), 10,
    'and the first stays as it is'
);
select throws_ok(
    format('select rota.create_queue(%s)', b.arguments), b.code, null,
    format('refused with %s: %s', b.code, left(b.arguments, 70))
)
from (
    values
    ('null', '22023'),
    ('''''', '22023'),
    ('''  ''', '22023'),
    (''' a''', '22023'),
    ('''a b''', '22023'),
    ('''-a''', '22023'),
    ('e''a\n''', '22023'),
    ('e''a\u00e9''', '22023'),
    ('''x''''; drop schema rota; --''', '22023'),
    ('''x"; drop schema rota; --''', '22023'),
    ('repeat(''q'', 101)', 'RT008'),
    ('''b'', max_attempts => null', '22023'),
    ('''b'', max_attempts => 0', '22023'),
    ('''b'', max_attempts => -1', '22023'),
    ('''b'', retry_policy => null', '22023'),
    ('''b'', retry_policy => ''none''', '42704'),
    ('''b'', retry_policy => ''''', '42704'),
    ('''b'', timeout => ''0''', '22023'),
    ('''b'', timeout => ''-1 s''', '22023'),
    ('''b'', timeout => ''101 years''', '22023'),
    ('''b'', timeout => ''1000000 years -359999999 days''', '22023'),
    ('''b'', max_lost => null', '22023'),
    ('''b'', max_lost => 0', '22023'),
    ('''b'', max_payload_bytes => null', '22023'),
    ('''b'', max_payload_bytes => 0', '22023'),
    ('''b'', max_payload_bytes => 200000001', '22023'),
    ('''b'', retention => ''-1 s''', '22023'),
    ('''b'', retention => ''200 years''', '22023'),
    ('''b'', is_notifying => null', '22023')
) as b (arguments, code);
select is(
    (select count(*)::integer from rota.queue_settings), 9,
    'no queue was made by a call that was refused'
);
select * from finish();
rollback;
