begin;
select plan(15);

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
select
    rota.register_worker('lost', '1 min') as lost,
    rota.register_worker('alive', '1 day') as alive;
do $$
begin
    perform rota.create_queue('brief', retention => '1 h');
    perform rota.create_queue('unkept', retention => '0');
    perform rota.enqueue('lost');
    perform rota.claim_jobs(lost) from ref;
    perform rota.enqueue('slow', timeout => '1 min');
    perform rota.claim_jobs(alive) from ref;
    perform rota.cancel_job(
        rota.enqueue('old', queue => 'brief', idempotency_key => 'k',
            key_ttl => '1 min')
    );
    perform rota.cancel_job(rota.enqueue('counted', queue => 'unkept'));
    perform rota.cancel_job(rota.enqueue('counted', queue => 'unkept'));
    perform rota.enqueue('due', delay => '1 min');
    perform rota.enqueue('later', delay => '5 h');
    perform rota.deregister_worker(rota.register_worker('ended'));
end;
$$;

select results_eq(
    $$ select m.promoted_count, m.lost_worker_count, m.returned_count,
       m.timed_out_count,
           m.purged_count, m.next_due_at
       from rota.maintain() as m $$,
    $$ values (0, 0, 0, 0, 0, timestamptz '2030-01-01 12:01+00') $$,
    'with nothing to do, maintain tells when there will be'
);
set local test.now = '2030-01-01 14:00+00';
select results_eq(
    $$ select m.promoted_count, m.lost_worker_count, m.returned_count,
       m.timed_out_count,
           m.purged_count, m.next_due_at between '2030-01-01 14:00+00'
               and '2030-01-01 17:00+00'
       from rota.maintain() as m $$,
    $$ values (1, 1, 1, 1, 1, true) $$,
    'maintain promotes, reaps, times out and purges, and says how much'
);
select bag_eq(
    $$ select j.kind, j.state from rota.jobs as j $$,
    $$ values ('lost', 'queued'), ('slow', 'scheduled'), ('due', 'queued'),
        ('later', 'scheduled') $$,
    'each job is where the steps put it'
);
select is_empty('select * from rota.idempotency_key', 'expired keys are gone');
select is((select count(*) from rota.tally), 1::bigint, 'the tally is folded');
select isnt(
    to_regclass('rota.archive_20300104'), null,
        'the partitions of the next days are there'
);
select results_eq(
    $$ select m.promoted_count, m.lost_worker_count, m.returned_count,
       m.timed_out_count,
           m.purged_count
       from rota.maintain() as m $$,
    'values (0, 0, 0, 0, 0)',
    'doing it again does nothing'
);
set local test.now = '2030-01-08 14:00:01+00';
select lives_ok('select rota.maintain()', 'a week later');
select set_eq(
    'select w.name from rota.worker_status as w', $$ values ('alive') $$,
    'workers that ended then are forgotten'
);
select is(
    (select m.next_due_at from rota.maintain() as m), null,
    'with nothing scheduled there is no next time'
);
do $$
begin
    perform rota.enqueue_jobs(
        '{bulk}', array_fill('{}'::jsonb, array[5]),
            delays => array_fill('1 s'::interval, array[5])
    );
    perform set_config('test.now', '2030-01-08 14:00:02+00', true);
end;
$$;
select results_eq(
    $$ select m.promoted_count, m.next_due_at from rota.maintain(2) as m $$,
    $$ values (2, timestamptz '2030-01-08 14:00:02+00') $$,
    'a step does no more than asked for; then the next is due at once'
);
select throws_ok(
    format('select rota.maintain(%s)', b.given), '22023', null,
    'refused: max_jobs ' || b.given
)
from (values ('null'), ('0'), ('-1')) as b (given);
select lives_ok('select rota.maintain(2147483647)', 'any maximum may be asked for');
select * from finish();
rollback;
