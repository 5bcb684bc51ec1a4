begin;
select plan(19);

create or replace function rota._now()
returns timestamptz
language sql
volatile
parallel unsafe
as $$
    select current_setting('test.now')::timestamptz
$$;

/* What an hourly schedule, at half past, makes of a downtime that begins at twelve. */
create function pg_temp.made(p_name text, p_downtime interval, p_options text)
returns text[]
language plpgsql
as $$
declare
    v_name constant text := p_name || ' ' || p_downtime;
    v_fired text[];
begin
    perform set_config('test.now', '2030-03-10 12:00:00+00', true);
    execute format(
        'select rota.create_schedule(%L, ''30 * * * *'', ''k''%s)', v_name, p_options
    );
    perform set_config(
        'test.now', (timestamptz '2030-03-10 12:00:20+00' + p_downtime)::text, true
    );
    perform rota.materialize_schedules();
    perform rota.materialize_schedules();
    select coalesce(array_agg(
        to_char(j.run_at at time zone 'UTC', 'MM-DD HH24:MI') order by j.id
    ), '{}')
    into v_fired
    from rota.jobs as j
    where j.payload -> 'schedule' ->> 'name' = v_name;
    return v_fired;
end;
$$;

select is(pg_temp.made('latest', '1 hour', ''), '{03-10 12:30}', 'latest, an hour');
select is(pg_temp.made('latest', '1 day', ''), '{03-11 11:30}', 'latest, a day');
select is(pg_temp.made('latest', '31 days', ''), '{04-10 11:30}', 'latest, a month');

select is(pg_temp.made('skip', d.downtime, ', missed => ''skip'''), '{}', 'skip, ' || d.name)
from (
    values ('1 hour'::interval, 'an hour'), ('1 day', 'a day'), ('31 days', 'a month')
) as d (downtime, name);
select is(
    pg_temp.made('skip late', d.downtime, ', missed => ''skip'', max_age => ''31 min'''),
    array[d.fire], 'skip what is older than half an hour and a minute, ' || d.name
)
from (
    values
    ('1 hour'::interval, '03-10 12:30', 'an hour'),
    ('1 day', '03-11 11:30', 'a day'),
    ('31 days', '04-10 11:30', 'a month')
) as d (downtime, fire, name);

select is(
    pg_temp.made('all', '1 hour', ', missed => ''all'''), '{03-10 12:30}', 'all, an hour'
);
select is(
    pg_temp.made('all', '1 day', ', missed => ''all'''),
    array(
        select to_char(timestamp '2030-03-10 12:30' + n * interval '1 hour', 'MM-DD HH24:MI')
        from generate_series(0, 23) as n
    ),
    'all, a day: each hour of it, in order'
);
select is(
    pg_temp.made('all', '31 days', ', missed => ''all'''),
    array(
        select to_char(timestamp '2030-04-10 11:30' - n * interval '1 hour', 'MM-DD HH24:MI')
        from generate_series(99, 0, -1) as n
    ),
    'all, a month: the last hundred, which is the limit'
);
select is(
    pg_temp.made('two', d.downtime, ', missed => ''all'', max_missed => 2'), d.fires,
    'all up to two, ' || d.name
)
from (
    values
    ('1 hour'::interval, '{03-10 12:30}'::text[], 'an hour'),
    ('1 day', '{03-11 10:30,03-11 11:30}', 'a day'),
    ('31 days', '{04-10 10:30,04-10 11:30}', 'a month')
) as d (downtime, fires, name);
select is(
    pg_temp.made('young', d.downtime, ', missed => ''all'', max_age => ''150 min'''),
    d.fires, 'all of the last two and a half hours, ' || d.name
)
from (
    values
    ('1 hour'::interval, '{03-10 12:30}'::text[], 'an hour'),
    ('1 day', '{03-11 10:30,03-11 11:30}', 'a day'),
    ('31 days', '{04-10 10:30,04-10 11:30}', 'a month')
) as d (downtime, fires, name);
select is(
    (select count(*) from rota.schedule_status as s where s.state <> 'active'), 0::bigint,
    'and every schedule goes on'
);
select * from finish();
rollback;
