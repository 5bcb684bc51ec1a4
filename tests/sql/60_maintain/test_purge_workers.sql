begin;
select plan(7);

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
    rota.register_worker('ended') as ended,
    rota.register_worker('lost', '1 s') as lost,
    rota.register_worker('holds', '1 s') as holds,
    rota.register_worker('alive', '1 day') as alive;
do $$
begin
    perform rota.deregister_worker(ended) from ref;
    perform rota.enqueue('k');
    perform rota.claim_jobs(holds) from ref;
    perform set_config('test.now', '2030-01-01 12:00:01+00', true);
    update rota.worker set lost_at = rota._now() where name = 'holds';
    perform rota.reap_workers(1);
    perform rota.enqueue('k');
    perform rota.claim_jobs(alive) from ref;
end;
$$;

select is(
    rota.purge_workers(), 0, 'workers that have ended can be looked at for a week'
);
set local test.now = '2030-01-08 12:00:00.5+00';
select is(rota.purge_workers(), 1, 'then they go');
set local test.now = '2030-01-08 12:00:02+00';
select is(rota.purge_workers(), 2, 'one by one');
select results_eq(
    'select w.name from rota.worker_status as w', $$ values ('alive') $$,
    'a worker that has not ended stays'
);
do $$
begin
    perform rota.alter_settings(worker_retention => '1 h');
    perform rota.deregister_worker(alive) from ref;
    perform set_config('test.now', '2030-01-08 13:00:02.1+00', true);
end;
$$;
update rota.job set worker_id = (select alive from ref), state = 'running',
    claimed_at = created_at, position = position
where id = (select max(j.id) from rota.job as j);
select is(rota.purge_workers(), 0, 'a worker that a running job names is kept');
delete from rota.job;
select is(rota.purge_workers(), 1, 'the operator decides how long');
select is_empty('select * from rota.worker_status', 'none is left');
select * from finish();
rollback;
