begin;
select plan(10);

create function pg_temp.lines(
    p_schedule text, p_zone text, p_since timestamptz, p_until timestamptz,
    p_gap text default null, p_repeat text default null
)
returns setof text
language sql
as $$
    select concat_ws(' | ', e.local_time, e.utc_time,
        case when e.is_skipped then 'skipped' end, e.note)
    from rota.explain_schedule(p_schedule, p_zone, p_since, p_until, p_gap, p_repeat) as e
$$;

select results_eq(
    $$ select pg_temp.lines('30 2 * * *', 'America/New_York', '2027-03-13Z',
        '2027-03-16Z') $$,
    $$ values ('Sat 2027-03-13 02:30:00 -05:00 | 2027-03-13 07:30:00'),
        ('Sun 2027-03-14 03:00:00 -04:00 | 2027-03-14 07:00:00'
            ' | 02:30 does not exist on this day: runs at 03:00'),
        ('Mon 2027-03-15 02:30:00 -04:00 | 2027-03-15 06:30:00') $$,
    'a time in a gap says where it runs'
);
select results_eq(
    $$ select pg_temp.lines('30 2 * * *', 'America/New_York', '2027-03-14Z',
        '2027-03-15Z', 'skip') $$,
    $$ values ('Sun 2027-03-14 02:30:00 | 2027-03-14 07:00:00 | skipped'
        ' | 02:30 does not exist on this day: skipped') $$,
    'or that it is skipped'
);
select results_eq(
    $$ select pg_temp.lines('*/30 2 * * *', 'America/New_York', '2027-03-14Z',
        '2027-03-14 07:00Z') $$,
    $$ values ('Sun 2027-03-14 02:00:00 | 2027-03-14 07:00:00 | skipped | 02:00 does not'
            ' exist on this day: skipped, as the schedule follows the wall clock'),
        ('Sun 2027-03-14 02:30:00 | 2027-03-14 07:00:00 | skipped | 02:30 does not'
            ' exist on this day: skipped, as the schedule follows the wall clock') $$,
    'and why'
);
select results_eq(
    $$ select pg_temp.lines('0 6 * * *', 'Pacific/Apia', '2011-12-30Z',
        '2011-12-30 12:00Z') $$,
    $$ values ('Fri 2011-12-30 06:00:00 | 2011-12-30 10:00:00 | skipped | 06:00 does not'
        ' exist on this day: skipped, as the clocks go forward by 3 hours or more') $$,
    'a correction of the clock makes nothing up'
);
select results_eq(
    $$ select pg_temp.lines('0 2,3 * * *', 'America/New_York', '2027-03-14Z',
        '2027-03-15Z') $$,
    $$ values ('Sun 2027-03-14 03:00:00 -04:00 | 2027-03-14 07:00:00'
            ' | 02:00 does not exist on this day: runs at 03:00'),
        ('Sun 2027-03-14 03:00:00 -04:00 | 2027-03-14 07:00:00 | skipped'
            ' | one run with the line above') $$,
    'two times at one instant are one run'
);
select results_eq(
    $$ select pg_temp.lines('30 1 * * *', 'America/New_York', '2027-11-07Z',
        '2027-11-08Z') $$,
    $$ values ('Sun 2027-11-07 01:30:00 -04:00 | 2027-11-07 05:30:00'
            ' | first of two 01:30s'),
        ('Sun 2027-11-07 01:30:00 -05:00 | 2027-11-07 06:30:00 | skipped'
            ' | second of two 01:30s: does not run again') $$,
    'a time that comes twice says so'
);
select results_eq(
    $$ select pg_temp.lines('30 1 * * *', 'America/New_York', '2027-11-07 05:30Z',
        '2027-11-07 06:30Z', null, 'both') $$,
    $$ values ('Sun 2027-11-07 01:30:00 -05:00 | 2027-11-07 06:30:00'
        ' | second of two 01:30s') $$,
    'since is not listed, until is'
);
select results_eq(
    $$ select pg_temp.lines('@every 8h', 'Asia/Kathmandu', '2027-01-01Z',
        '2027-01-01 16:00Z') $$,
    $$ values ('Fri 2027-01-01 13:45:00 +05:45 | 2027-01-01 08:00:00'),
        ('Fri 2027-01-01 21:45:00 +05:45 | 2027-01-01 16:00:00') $$,
    '@every is listed as well'
);
do $$
begin
    perform rota.create_schedule(
        'nightly', '30 2 * * *', 'k', timezone => 'America/New_York', gap => 'skip'
    );
end;
$$;
select results_eq(
    $$ select pg_temp.lines('nightly', null, '2027-03-14Z', '2027-03-15Z') $$,
    $$ values ('Sun 2027-03-14 02:30:00 | 2027-03-14 07:00:00 | skipped'
        ' | 02:30 does not exist on this day: skipped') $$,
    'a schedule is explained by its name, with its own zone and policies'
);
select is(
    (select count(*) from rota.explain_schedule('* * * * *', until => '9999-01-01Z')),
    1000::bigint, 'a thousand lines are enough'
);
select * from finish();
rollback;
