begin;
select plan(14);

create or replace function rota._now()
returns timestamptz
language sql
volatile
parallel unsafe
as $$
    select current_setting('test.now')::timestamptz
$$;
set local test.now = '2030-01-01 12:00+00';

create function pg_temp.altered(p_arguments text)
returns text
language plpgsql
as $$
begin
    execute format('select rota.alter_settings(%s)', p_arguments);
    return (select concat_ws(' ', s.retention, s.worker_retention, s.timeout_grace)
            from rota.settings as s);
end;
$$;

select is(pg_temp.altered(c.arguments), c.settings, 'altered: ' || c.arguments)
from (
    values
    ('', '30 days 7 days 00:00:10'),
    ('retention => ''1 day''', '1 day 7 days 00:00:10'),
    ('worker_retention => ''1 h''', '1 day 01:00:00 00:00:10'),
    ('timeout_grace => ''0''', '1 day 01:00:00 00:00:00'),
    ('''2 days'', ''2 h'', ''2 s''', '2 days 02:00:00 00:00:02')
) as c (arguments, settings);
select throws_ok(
    format('select rota.alter_settings(%s)', b.arguments), '22023', null,
    'refused: ' || b.arguments
)
from (
    values
    ('retention => ''23 h'''),
    ('retention => ''-1 day'''),
    ('retention => ''101 years'''),
    ('worker_retention => ''59 min'''),
    ('worker_retention => ''1000 years'''),
    ('timeout_grace => ''-1 s'''),
    ('timeout_grace => ''1000000 years -360000000 days'''),
    ('retention => ''3 days'', timeout_grace => ''-1 s''')
) as b (arguments);
select is(
    pg_temp.altered(''), '2 days 02:00:00 00:00:02',
        'nothing that was refused was changed'
);
select * from finish();
rollback;
