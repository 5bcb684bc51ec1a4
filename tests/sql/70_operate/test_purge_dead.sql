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

create temp table ref as
select rota.register_worker('w', '1 day') as worker;
do $$
declare
    v_kind text;
begin
    perform rota.create_queue('q');
    perform rota.create_queue('r');
    foreach v_kind in array '{a,b,c,d}'::text[] loop
        perform set_config('test.now', (rota._now() + interval '1 s')::text, true);
        perform rota.enqueue(
            v_kind, queue => case when v_kind = 'd' then 'r' else 'q' end
        );
        perform rota.claim_jobs(worker, '{q,r}') from ref;
        perform rota.fail_job(j.id, 1, 'e', false) from rota.jobs as j
        where j.kind = v_kind;
    end loop;
    perform rota.enqueue('a', queue => 'q');
end;
$$;
create function pg_temp.dead()
returns text
language sql
as $$
    select string_agg(d.kind, ' ' order by d.id) from rota.dead_letters as d
$$;

select is(pg_temp.dead(), 'a b c d', 'four are dead');
savepoint purged;
select is(rota.purge_dead(queue => 'q'), 3, 'a whole queue is purged');
select is(pg_temp.dead(), 'd', 'and no other');
rollback to purged;
select is(rota.purge_dead(kind => 'a'), 1, 'or a kind');
select is(pg_temp.dead(), 'b c d', 'and no other');
select is(
    (select count(*)::integer from rota.jobs where kind = 'a' and state = 'queued'), 1,
    'a job that lives is never purged'
);
rollback to purged;
select is(
    rota.purge_dead(died_before => '2030-01-01 12:00:03+00'), 2,
        'or those that died before'
);
select is(pg_temp.dead(), 'c d', 'that instant');
rollback to purged;
select is(
    rota.purge_dead(array(select j.id from rota.jobs as j), max_jobs => 3), 3,
    'no more than asked for'
);
select is(pg_temp.dead(), 'd', 'the oldest deaths first');
rollback to purged;
select is(
    rota.purge_dead(died_before => 'infinity', queue => 'r'), 1, 'all filters must hold'
);
rollback to purged;
select is(rota.purge_dead('{}'), 0, 'no ids are no jobs');
select throws_ok(
    format('select rota.purge_dead(%s)', b.arguments), b.code, null,
    format('refused with %s: %s', b.code, b.arguments)
)
from (
    values
    ('', '22023'),
    ('max_jobs => 5', '22023'),
    ('queue => ''none''', 'RT003'),
    ('kind => ''a'', max_jobs => null', '22023'),
    ('kind => ''a'', max_jobs => 0', '22023'),
    ('kind => ''a'', max_jobs => -1', '22023')
) as b (arguments, code);
select is(pg_temp.dead(), 'a b c d', 'nothing that was refused was purged');
select is(
    rota.purge_dead(kind => 'x''; drop table rota.dead_letter; --'), 0,
        'filters are values'
);
select is_empty(
    $$ select e.job_id from rota.executions as e
       where not exists (select from rota.jobs as j where j.id = e.job_id) $$,
    'all executions so far belong to a job'
);
select * from finish();
rollback;
