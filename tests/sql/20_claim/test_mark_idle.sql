begin;
select plan(23);

/* Session locks outlive the transaction: whatever is marked here is unmarked here. */
do $$
begin
    for i in 1..9 loop
        perform rota.create_queue('q' || i);
    end loop;
end;
$$;
create function pg_temp.marks()
returns integer
language sql
as $$
    select count(*)::integer
    from pg_locks as l
    where l.locktype = 'advisory'
        and l.classid = rota._lock_class()::oid
        and l.objid <> 1
        and l.pid = pg_backend_pid()
$$;

select is(pg_temp.marks(), 0, 'a session begins unmarked');
select lives_ok($$ select rota.mark_idle('{q1,q2}') $$, 'a runner says that it idles');
select is(
    pg_temp.marks(), 3, 'which leaves a mark, and one for each of its queues'
);
select lives_ok($$ select rota.mark_busy('{q1,q2}') $$, 'and that it is busy again');
select is(pg_temp.marks(), 0, 'which takes the marks away');
select lives_ok(
    $$ select rota.mark_idle('{q1,q2,q3,q4,q5,q6,q7,q8,q9}') $$,
    'a runner of many queues'
);
select is(pg_temp.marks(), 2, 'leaves a mark, and one for all its queues');
select lives_ok(
    $$ select rota.mark_busy('{q1,q2,q3,q4,q5,q6,q7,q8,q9}') $$, 'and takes it away'
);
select is(pg_temp.marks(), 0, 'too');
select is(
    cardinality(rota.enqueuers_in_flight()), 0, 'nobody enqueues at this moment'
);
select throws_ok(
    format('select rota.%s(%s)', v.verb, b.queues), b.code, null,
    format('%s refused with %s: %s', v.verb, b.code, b.queues)
)
from unnest('{mark_idle,mark_busy}'::text[]) as v (verb)
cross join (
    values
    ('null', '22023'),
    ('''{}''', '22023'),
    ('array[null::text]', '22023'),
    ('''{{q1,null}}''', '22023'),
    ('''{none}''', 'RT003')
) as b (queues, code);
select is(pg_temp.marks(), 0, 'nothing that was refused left a mark');
select lives_ok($$ select rota.enqueue('k', queue => 'q1') $$, 'an enqueuer');
select is(
    cardinality(rota.enqueuers_in_flight()), 0,
    'a session does not wait for itself'
);
select * from finish();
rollback;
