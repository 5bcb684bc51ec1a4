begin;
select plan(88);

create or replace function rota._now()
returns timestamptz
language sql
volatile
parallel unsafe
as $$
    select current_setting('test.now')::timestamptz
$$;
set local test.now = '2030-01-01 12:00+00';

create function pg_temp.policy(p_policy text)
returns text
language sql
as $$
    select concat_ws(
        ' ', rp.strategy, coalesce(rp.base::text, '-'), coalesce(rp.factor::text, '-'),
        rp.cap, coalesce(rp.delays::text, '-'), rp.jitter, rp.jitter_fraction
    )
    from rota.retry_policies as rp
    where rp.policy = p_policy
$$;
create function pg_temp.created(p_policy text, p_arguments text)
returns text
language plpgsql
as $$
begin
    execute format('select rota.create_retry_policy(%L%s)', p_policy, p_arguments);
    return pg_temp.policy(p_policy);
end;
$$;
create function pg_temp.altered(p_policy text, p_arguments text)
returns text
language plpgsql
as $$
begin
    execute format('select rota.alter_retry_policy(%L%s)', p_policy, p_arguments);
    return pg_temp.policy(p_policy);
end;
$$;

select is(
    pg_temp.policy('default'), 'exponential 00:00:05 2 01:00:00 - fraction 0.25',
    'a fresh install has a policy: 5 seconds, doubling, to an hour, a quarter of jitter'
);
select is(
    pg_temp.created('p' || c.number, c.arguments), c.policy, 'created: ' || c.arguments
)
from (
    values
    (1, '', 'exponential 00:00:05 2 01:00:00 - fraction 0.25'),
    (2, ', ''fixed''', 'fixed 00:00:05 - 01:00:00 - fraction 0.25'),
    (3, ', ''linear''', 'linear 00:00:05 1 01:00:00 - fraction 0.25'),
    (4, ', ''list'', delays => ''{1 s,2 s}''::interval[]',
        'list - - 01:00:00 {00:00:01,00:00:02} fraction 0.25'),
    (5, ', base => ''0'', factor => 1, cap => ''365 days'', jitter => ''none'''
        ', jitter_fraction => 0', 'exponential 00:00:00 1 365 days - none 0'),
    (6, ', ''linear'', factor => 0, cap => ''1 ms'', jitter => ''full'''
        ', jitter_fraction => 1', 'linear 00:00:05 0 00:00:00.001 - full 1'),
    (7, ', factor => 1000', 'exponential 00:00:05 1000 01:00:00 - fraction 0.25'),
    (8, ', ''list'', delays => ''{1 s,2 days}''::interval[]',
        'list - - 2 days {00:00:01,"2 days"} fraction 0.25')
) as c (number, arguments, policy);
select is(pg_temp.altered('p1', c.change), c.policy, 'altered: ' || c.change)
from (
    values
    ('', 'exponential 00:00:05 2 01:00:00 - fraction 0.25'),
    (', base => ''7 s''', 'exponential 00:00:07 2 01:00:00 - fraction 0.25'),
    (', factor => 3', 'exponential 00:00:07 3 01:00:00 - fraction 0.25'),
    (', ''linear''', 'linear 00:00:07 3 01:00:00 - fraction 0.25'),
    (', ''fixed''', 'fixed 00:00:07 - 01:00:00 - fraction 0.25'),
    (', ''exponential''', 'exponential 00:00:07 2 01:00:00 - fraction 0.25'),
    (', cap => ''1 min'', jitter => ''none''',
        'exponential 00:00:07 2 00:01:00 - none 0.25'),
    (', jitter_fraction => 0.5', 'exponential 00:00:07 2 00:01:00 - none 0.5'),
    (', ''list'', delays => ''{3 s}''::interval[]',
        'list - - 00:01:00 {00:00:03} none 0.5'),
    (', delays => ''{4 s,5 s}''::interval[]',
        'list - - 00:01:00 {00:00:04,00:00:05} none 0.5'),
    (', ''fixed'', base => ''1 s''', 'fixed 00:00:01 - 00:01:00 - none 0.5')
) as c (change, policy);
select throws_ok(
    format('select rota.%s_retry_policy(%s)', v.verb, b.arguments), b.code, null,
    format('%s refused with %s: %s', v.verb, b.code, left(b.arguments, 60))
)
from unnest('{create,alter}'::text[]) as v (verb)
cross join (
    values
    ('null', '22023', '22023'),
    ('''x'', ''none''', '22023', '42704'),
    ('''default'', ''none''', '22023', '22023'),
    ('''default'', ''list''', '22023', '22023'),
    ('''default'', ''list'', delays => ''{}''', '22023', '22023'),
    ('''default'', ''list'', delays => array[null::interval]', '22023', '22023'),
    ('''default'', ''list'', delays => ''{1 s,null}''::interval[]', '22023', '22023'),
    ('''default'', ''list'', delays => ''{-1 s}''::interval[]', '22023', '22023'),
    ('''default'', ''list'', delays => ''{101 years}''::interval[]', '22023', '22023'),
    ('''default'', ''list'', delays => ''{{1 s},{2 s}}''::interval[]', '22023',
        '22023'),
    ('''default'', ''list'', delays => ''[0:1]={1 s,2 s}''::interval[]', '22023',
        '22023'),
    ('''default'', delays => ''{1 s}''::interval[]', '22023', '22023'),
    ('''default'', base => ''-1 s''', '22023', '22023'),
    ('''default'', base => ''-1 year 361 days''', '22023', '22023'),
    ('''default'', base => ''101 years''', '22023', '22023'),
    ('''default'', factor => 0.999', '22023', '22023'),
    ('''default'', factor => -1', '22023', '22023'),
    ('''default'', factor => 1001', '22023', '22023'),
    ('''default'', factor => ''NaN''', '22023', '22023'),
    ('''default'', factor => ''Infinity''', '22023', '22023'),
    ('''default'', ''linear'', factor => -0.1', '22023', '22023'),
    ('''default'', cap => ''0''', '22023', '22023'),
    ('''default'', cap => ''-1 s''', '22023', '22023'),
    ('''default'', cap => ''366 days''', '22023', '22023'),
    ('''default'', jitter => ''some''', '22023', '22023'),
    ('''default'', jitter_fraction => -0.1', '22023', '22023'),
    ('''default'', jitter_fraction => 1.1', '22023', '22023'),
    ('''default'', jitter_fraction => ''NaN''', '22023', '22023')
) as c (arguments, created, altered)
cross join lateral (
    select
        c.arguments,
        case v.verb when 'create' then c.created else c.altered end as code
) as b;
select throws_ok(
    format('select rota.create_retry_policy(%s)', b.arguments), b.code, null,
    format('create refused with %s: %s', b.code, left(b.arguments, 60))
)
from (
    values
    ('''''', '22023'),
    ('e''a\nb''', '22023'),
    ('repeat(''p'', 101)', 'RT008'),
    ('''x'', null', '22023'),
    ('''x'', base => null', '22023'),
    ('''x'', jitter => null', '22023'),
    ('''x'', jitter_fraction => null', '22023'),
    ('''default''', '42710')
) as b (arguments, code);
select is(
    (select count(*)::integer from rota.retry_policies), 9,
    'no policy was made by a call that was refused'
);
select is(
    pg_temp.policy('default'), 'exponential 00:00:05 2 01:00:00 - fraction 0.25',
    'and none was changed'
);
select lives_ok(
    $$ select rota.create_retry_policy('x''; drop table rota.retry_policy; --') $$,
    'a name that looks like SQL is a name'
);
select is(
    (select count(*)::integer from rota.retry_policies
     where policy = 'x''; drop table rota.retry_policy; --'),
    1, 'and is stored as it stands'
);
select * from finish();
rollback;
