begin;
select plan(21);

create or replace function rota._now()
returns timestamptz
language sql
volatile
parallel unsafe
as $$
    select current_setting('test.now')::timestamptz
$$;
set local test.now = '2030-01-01 12:00+00';

/* From here on only days of 2030 count. */
create function pg_temp.days(p_table text)
returns setof text
language sql
as $$
    select right(c.relname, 8)
    from pg_inherits as i
    inner join pg_class as c on c.oid = i.inhrelid
    where i.inhparent = format('rota.%I', p_table)::regclass and c.relname ~ '_\d{8}$'
    order by 1
$$;
create function pg_temp.complete_one(p_kind text)
returns void
language plpgsql
as $$
declare
    v_worker constant bigint := rota.register_worker('w');
    v_id bigint;
begin
    v_id := rota.enqueue(p_kind);
    perform rota.claim_jobs(v_worker);
    perform rota.release_job(v_id, 1);
    perform rota.claim_jobs(v_worker);
    perform rota.complete_job(v_id, 2);
end;
$$;
create function pg_temp.place(p_table regclass, p_kind text)
returns text
language plpgsql
as $$
declare
    v_place text;
begin
    execute format(
        'select (select c.relname from pg_class as c where c.oid = t.tableoid)'
        ' from %s as t'
        ' where %s = (select id from rota.jobs where kind = %L) limit 1',
        p_table,
        case when p_table::text like '%attempt' then 't.job_id' else 't.id' end,
        p_kind
    ) into v_place;
    return v_place;
end;
$$;

select ok(
    (select count(*) >= 4 from pg_temp.days('archive')),
    'a fresh install has the partitions of the next days'
);
do $$
begin
    perform pg_temp.complete_one('early');
end;
$$;
select is(
    pg_temp.place(t.name::regclass, 'early'), t.place,
    'without a partition for the day, nothing fails: the row goes to ' || t.place
)
from (
    values ('rota.archive', 'archive_default'), ('rota.attempt', 'attempt_default')
) as t (name, place);

set local test.now = '2030-01-02 23:59:59+00';
select cmp_ok(
    rota.ensure_partitions(), '>=', 8, 'partitions older than the retention go'
);
select results_eq(
    format('select pg_temp.days(%L)', t.name),
    $$ values ('20300102'), ('20300103'), ('20300104'), ('20300105') $$,
    t.name || ': those of today and the next three days come'
)
from (values ('archive'), ('attempt')) as t (name);
select is(rota.ensure_partitions(), 0, 'once');
do $$
begin
    perform pg_temp.complete_one('late in the evening');
    perform set_config('test.now', '2030-01-03 00:00+00', true);
    perform pg_temp.complete_one('at midnight');
end;
$$;
select is(
    pg_temp.place(t.name::regclass, t.kind), t.place, format('%s is in %s', t.kind,
        t.place)
)
from (
    values
    ('rota.archive', 'late in the evening', 'archive_20300102'),
    ('rota.attempt', 'late in the evening', 'attempt_20300102'),
    ('rota.archive', 'at midnight', 'archive_20300103'),
    ('rota.attempt', 'at midnight', 'attempt_20300103')
) as t (name, kind, place);
select is(
    (select count(*)::integer from rota.executions as e
     inner join rota.jobs as j on j.id = e.job_id),
    6, 'whatever the partition, all of it can be read'
);

/* The time zone of the session does not matter. */
set local timezone = 'Pacific/Kiritimati';
set local test.now = '2030-01-03 20:00+00';
select lives_ok('select rota.ensure_partitions()', 'a session far to the east');
select results_eq(
    $$ select pg_temp.days('archive') $$,
    $$ values ('20300102'), ('20300103'), ('20300104'), ('20300105'), ('20300106') $$,
    'makes the same days'
);
set local timezone = 'UTC';

/* Retention. */
set local test.now = '2030-01-05 12:00+00';
do $$
begin
    perform rota.alter_settings(retention => '2 days');
end;
$$;
select is(rota.ensure_partitions(), 2, 'days before the retention go');
select results_eq(
    $$ select pg_temp.days('archive') $$,
    $$ values ('20300103'), ('20300104'), ('20300105'), ('20300106'), ('20300107'),
        ('20300108') $$,
    'a day that reaches into it stays'
);
select bag_eq(
    $$ select j.kind from rota.jobs as j $$, $$ values ('early'), ('at midnight') $$,
    'jobs go with their day; the default partition is not dropped'
);

/* A day whose rows are in the default partition already. */
set local test.now = '2030-02-01 12:00+00';
do $$
begin
    perform pg_temp.complete_one('unprepared');
end;
$$;
select lives_ok('select rota.ensure_partitions()', 'rows in the default partition');
select results_eq(
    $$ select pg_temp.days('archive') $$,
    $$ values ('20300202'), ('20300203'), ('20300204') $$,
    'stay there: their day gets no partition, the others do'
);
select is(
    pg_temp.place('rota.archive', 'unprepared'), 'archive_default', 'and can be read'
);
select is_empty(
    $$ select c.relname
       from pg_class as c
       cross join aclexplode(coalesce(c.relacl, acldefault('r', c.relowner))) as a
       where c.relnamespace = 'rota'::regnamespace
           and c.relispartition
           and a.grantee <> c.relowner $$,
    'nobody has a right on the new partitions'
);
select * from finish();
rollback;
