begin;
select plan(39);

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
    perform rota.create_queue('q', timeout => '1 min', retention => '1 day');
    perform rota.create_queue('other');
end;
$$;
create function pg_temp.settings(p_queue text default 'q')
returns text
language sql
as $$
    select concat_ws(
        ' ', s.max_attempts, s.retry_policy, coalesce(s.timeout::text, '-'), s.max_lost,
        s.max_payload_bytes, coalesce(s.retention::text, '-'), s.is_notifying
    )
    from rota.queue_settings as s
    where s.queue = p_queue
$$;
create function pg_temp.altered(p_arguments text)
returns text
language plpgsql
as $$
begin
    execute format('select rota.alter_queue(%s)', p_arguments);
    return pg_temp.settings();
end;
$$;

select is(
    pg_temp.altered('''q''' || coalesce(', ' || c.change, '')), c.settings,
    'changed: ' || coalesce(c.change, 'nothing')
)
from (
    values
    (null, '10 default 00:01:00 5 2097152 1 day t'),
    ('max_attempts => 3', '3 default 00:01:00 5 2097152 1 day t'),
    ('retry_policy => ''slow''', '3 slow 00:01:00 5 2097152 1 day t'),
    ('timeout => ''2 min''', '3 slow 00:02:00 5 2097152 1 day t'),
    ('max_lost => 1', '3 slow 00:02:00 1 2097152 1 day t'),
    ('max_payload_bytes => 10', '3 slow 00:02:00 1 10 1 day t'),
    ('retention => ''1 h''', '3 slow 00:02:00 1 10 01:00:00 t'),
    ('is_notifying => false', '3 slow 00:02:00 1 10 01:00:00 f'),
    ('reset => ''{timeout}''', '3 slow - 1 10 01:00:00 f'),
    ('reset => ''{retention}''', '3 slow - 1 10 - f'),
    ('timeout => ''1 s'', retention => ''2 h''', '3 slow 00:00:01 1 10 02:00:00 f'),
    ('reset => ''{timeout,retention,timeout}''', '3 slow - 1 10 - f'),
    ('retention => ''0''', '3 slow - 1 10 00:00:00 f'),
    ('reset => ''{}''', '3 slow - 1 10 00:00:00 f')
) as c (change, settings);
select is(
    pg_temp.settings('other'), '10 default - 5 2097152 - t',
        'other queues stay as they are'
);

select throws_ok(
    format('select rota.alter_queue(%s)', b.arguments), b.code, null,
    format('refused with %s: %s', b.code, b.arguments)
)
from (
    values
    ('null', '22023'),
    ('''''', 'RT003'),
    ('''none''', 'RT003'),
    ('''x''''; drop schema rota; --''', 'RT003'),
    ('''q'', max_attempts => 0', '22023'),
    ('''q'', max_attempts => -1', '22023'),
    ('''q'', retry_policy => ''none''', '42704'),
    ('''q'', timeout => ''0''', '22023'),
    ('''q'', timeout => ''-1 s''', '22023'),
    ('''q'', timeout => ''-1 year 361 days''', '22023'),
    ('''q'', max_lost => 0', '22023'),
    ('''q'', max_payload_bytes => 0', '22023'),
    ('''q'', max_payload_bytes => 2000000000', '22023'),
    ('''q'', retention => ''-1 s''', '22023'),
    ('''q'', retention => ''1000 years''', '22023'),
    ('''q'', reset => null', '22023'),
    ('''q'', reset => array[null::text]', '22023'),
    ('''q'', reset => ''{max_attempts}''', '22023'),
    ('''q'', reset => ''{timeout,x}''', '22023'),
    ('''q'', reset => ''{{timeout,x}}''', '22023')
) as b (arguments, code);
select is(
    pg_temp.settings(), '3 slow - 1 10 00:00:00 f',
        'nothing that was refused was changed'
);

/* What is altered holds for jobs to come. */
create temp table made as
select rota.enqueue('k', queue => 'other') as before;
do $$
begin
    perform rota.alter_queue('other', max_attempts => 1, max_payload_bytes => 2);
end;
$$;
select is(
    (select j.max_attempts from rota.jobs as j, made where j.id = made.before), 10,
    'a job keeps the attempts it was enqueued with'
);
select throws_ok(
    $$ select rota.enqueue('k', '{"a": 1}', 'other') $$, 'RT008', null,
    'the new limit holds for the next'
);
select is(
    (select count(*)::integer from rota.jobs), 1, 'and nothing of it is stored'
);
select * from finish();
rollback;
