begin;
select plan(8);

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
    v_job record;
begin
    perform rota.create_queue(q, retention => '0') from unnest('{a,b,c}'::text[]) as q;
    for i in 1..5 loop
        perform rota.enqueue('k', queue => 'a');
        perform rota.cancel_job(rota.enqueue('k', queue => 'a'));
        perform rota.enqueue_jobs('{k}', array_fill('{}'::jsonb, array[i]), 'b');
        for v_job in
            select array_agg(c.id) as ids, array_agg(c.execution) as executions
            from ref cross join lateral rota.claim_jobs(worker, '{a,b}', 100) as c
        loop
            perform rota.complete_jobs(v_job.ids, v_job.executions);
        end loop;
    end loop;
end;
$$;
create function pg_temp.counts()
returns setof text
language sql
as $$
    select concat_ws(' ', s.queue, s.unarchived_completed_count,
        s.unarchived_cancelled_count)
    from rota.queue_stats as s
    where s.queue <> 'default'
    order by 1
$$;

select results_eq(
    'select pg_temp.counts()', $$ values ('a 5 5'), ('b 15 0'), ('c 0 0') $$,
    'what is not archived is counted'
);
select cmp_ok((select count(*) from rota.tally), '>', 2::bigint, 'in many rows');
select is(rota.fold_tally(), 2, 'which are folded into one a queue');
select is((select count(*) from rota.tally), 2::bigint, 'no more than that');
select results_eq(
    'select pg_temp.counts()', $$ values ('a 5 5'), ('b 15 0'), ('c 0 0') $$,
    'without changing a count'
);
select is(rota.fold_tally(), 0, 'once folded there is nothing to do');
do $$
begin
    perform rota.cancel_job(rota.enqueue('k', queue => 'a'));
end;
$$;
select is(rota.fold_tally(), 1, 'until something is counted again');
select results_eq(
    'select pg_temp.counts()', $$ values ('a 5 6'), ('b 15 0'), ('c 0 0') $$,
    'and it adds up'
);
select * from finish();
rollback;
