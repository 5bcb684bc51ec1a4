begin;
select plan(9);

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
    for i in 1..5 loop
        perform rota.cancel_job(rota.enqueue(
            'k', idempotency_key => 'short ' || i, key_ttl => make_interval(secs => i)
        ));
    end loop;
    perform rota.enqueue('k', idempotency_key => 'live');
end;
$$;

select is(rota.purge_keys(), 0, 'keys within their time to live stay');
set local test.now = '2030-01-01 12:00:04+00';
select is(rota.purge_keys(2), 2, 'no more at once than asked for');
select set_eq(
    'select key from rota.idempotency_key',
    $$ values ('short 3'), ('short 4'), ('short 5'), ('live') $$,
    'those that expired first go first'
);
select is(rota.purge_keys(), 2, 'the rest the next time');
set local test.now = '2100-01-01 12:00+00';
select is(rota.purge_keys(2147483647), 1, 'any maximum may be asked for');
select set_eq(
    'select key from rota.idempotency_key', $$ values ('live') $$,
    'the key of a live job never expires'
);
select throws_ok(
    format('select rota.purge_keys(%s)', b.given), '22023', null,
    'refused: max_keys ' || b.given
)
from (values ('null'), ('0'), ('-1')) as b (given);
select * from finish();
rollback;
