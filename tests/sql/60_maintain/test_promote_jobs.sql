begin;
select plan(11);

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
    perform rota.create_queue('other');
    perform rota.enqueue('third', delay => '3 s');
    perform rota.enqueue('first', delay => '1 s');
    perform rota.enqueue('second', delay => '2 s', queue => 'other', priority => 5);
    perform rota.enqueue('tie', delay => '2 s');
    perform rota.enqueue('far', delay => '1 h');
    perform rota.enqueue('now');
end;
$$;
create function pg_temp.queued()
returns setof text
language sql
as $$
    select j.kind from rota.job as j where j.state = 'queued' order by j.position
$$;

select is(rota.promote_jobs(), 0, 'nothing is promoted before its time');
set local test.now = '2030-01-01 12:00:00.999999+00';
select is(rota.promote_jobs(), 0, 'not by a microsecond');
set local test.now = '2030-01-01 12:00:01+00';
select is(rota.promote_jobs(), 1, 'a job is promoted at the instant it falls due');
set local test.now = '2030-01-01 12:00:10+00';
select is(rota.promote_jobs(2), 2, 'no more than asked for');
select results_eq(
    'select pg_temp.queued()', $$ values ('now'), ('first'), ('second'), ('tie') $$,
    'those due first come first, ties in the order they were enqueued'
);
select is(rota.promote_jobs(2147483647), 1, 'the rest the next time');
select results_eq(
    'select pg_temp.queued()', $$ values ('now'), ('first'), ('second'), ('tie'),
        ('third') $$,
    'behind those before'
);
select results_eq(
    $$ select j.kind, j.attempt, j.execution, j.run_at from rota.jobs as j
       where j.kind in ('third', 'far') order by 1 $$,
    $$ values ('far', 0, 0, timestamptz '2030-01-01 13:00+00'),
        ('third', 0, 0, '2030-01-01 12:00:03+00') $$,
    'promoting changes nothing else about a job'
);
select throws_ok(
    format('select rota.promote_jobs(%s)', b.given), '22023', null,
    'refused: max_jobs ' || b.given
)
from (values ('null'), ('0'), ('-1')) as b (given);
select * from finish();
rollback;
