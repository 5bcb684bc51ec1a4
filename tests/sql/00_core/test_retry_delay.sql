begin;
select plan(51);

do $$
begin
    perform rota.create_retry_policy('fixed', 'fixed', base => '7 s', jitter => 'none');
    perform rota.create_retry_policy(
        'linear', 'linear', base => '10 s', factor => 0.5, cap => '1 day',
            jitter => 'none'
    );
    perform rota.create_retry_policy(
        'doubling', base => '3 s', cap => '10 days', jitter => 'none'
    );
    perform rota.create_retry_policy(
        'flat', base => '3 s', factor => 1, jitter => 'none'
    );
    perform rota.create_retry_policy(
        'steep', base => '1 us', factor => 1000, cap => '365 days', jitter => 'none'
    );
    perform rota.create_retry_policy('at once', base => '0', jitter => 'none');
    perform rota.create_retry_policy(
        'list', 'list', delays => array['1 s', '1 min', '5 min']::interval[],
        jitter => 'none'
    );
    perform rota.create_retry_policy(
        'capped', 'list', delays => array['1 s', '1 day']::interval[], cap => '1 h',
        jitter => 'none'
    );
    perform rota.create_retry_policy(
        'full', 'fixed', base => '100 s', jitter => 'full'
    );
    perform rota.create_retry_policy(
        'quarter', 'fixed', base => '100 s', jitter => 'fraction',
            jitter_fraction => 0.25
    );
    perform rota.create_retry_policy(
        'none of it', 'fixed', base => '100 s', jitter_fraction => 0
    );
    perform rota.create_retry_policy('capped full', base => '1 h', cap => '10 s',
        jitter => 'full');
end;
$$;

create function pg_temp.delay(p_policy text, p_attempt integer)
returns interval
language sql
as $$
    select rota._retry_delay(rota._retry_policy_id(p_policy), p_attempt)
$$;

select is(
    pg_temp.delay(d.policy, d.attempt), d.delay,
    format('%s: %s after attempt %s', d.policy, d.delay, d.attempt)
)
from (
    values
    ('fixed', 1, interval '7 s'),
    ('fixed', 2, '7 s'),
    ('fixed', 10, '7 s'),
    ('fixed', 64, '7 s'),
    ('fixed', 1000, '7 s'),
    ('fixed', 2000000000, '7 s'),
    ('linear', 1, '10 s'),
    ('linear', 2, '15 s'),
    ('linear', 10, '55 s'),
    ('linear', 64, '325 s'),
    ('linear', 1000, '5005 s'),
    ('linear', 2000000000, '24:00:00'),
    ('doubling', 1, '3 s'),
    ('doubling', 2, '6 s'),
    ('doubling', 10, '1536 s'),
    ('doubling', 64, '240:00:00'),
    ('doubling', 1000, '240:00:00'),
    ('doubling', 2000000000, '240:00:00'),
    ('flat', 1, '3 s'),
    ('flat', 1000, '3 s'),
    ('flat', 2000000000, '3 s'),
    ('steep', 1, '1 us'),
    ('steep', 2, '1 ms'),
    ('steep', 3, '1 s'),
    ('steep', 10, '8760:00:00'),
    ('steep', 64, '8760:00:00'),
    ('steep', 1000, '8760:00:00'),
    ('steep', 2000000000, '8760:00:00'),
    ('at once', 1, '1 us'),
    ('at once', 64, '1 us'),
    ('at once', 2000000000, '1 us'),
    ('list', 1, '1 s'),
    ('list', 2, '1 min'),
    ('list', 3, '5 min'),
    ('list', 10, '5 min'),
    ('list', 64, '5 min'),
    ('list', 1000, '5 min'),
    ('list', 2000000000, '5 min'),
    ('capped', 2, '1 h'),
    ('none of it', 2, '100 s')
) as d (policy, attempt, delay);

create temp table draw as
select
    p.policy,
    extract(epoch from pg_temp.delay(p.policy, 3)) as seconds
from unnest('{full,quarter,capped full}'::text[]) as p (policy)
cross join generate_series(1, 10000);

select ok(
    min(d.seconds) > 0 and max(d.seconds) <= 100,
    'full jitter stays above nothing and never exceeds the delay'
)
from draw as d
where d.policy = 'full';
select ok(
    min(d.seconds) >= 75 and max(d.seconds) <= 100,
    'a quarter of jitter takes away at most a quarter'
)
from draw as d
where d.policy = 'quarter';
select ok(
    min(d.seconds) > 0 and max(d.seconds) <= 10,
    'jitter is drawn below the cap, not below the uncapped delay'
)
from draw as d
where d.policy = 'capped full';

/* Uniform: of 10,000 draws each tenth of the range gets 1,000, with a standard
deviation of 30; ten of those are never seen. */
select ok(
    count(*) = 10 and min(t.share) > 700 and max(t.share) < 1300,
    t.policy || ': the draws are spread over the whole range'
)
from (
    select
        d.policy,
        width_bucket(
            d.seconds,
            case d.policy when 'quarter' then 75 else 0 end,
            case d.policy when 'capped full' then 10 else 100 end + 0.000001,
            10
        ) as tenth,
        count(*) as share
    from draw as d
    group by 1, 2
) as t
group by t.policy
order by t.policy;
select ok(
    count(distinct d.seconds) > 9900, d.policy || ': hardly two draws are the same'
)
from draw as d
group by d.policy
order by d.policy;

select is(
    (select count(*)::integer from generate_series(1, 1000) as a (attempt)
     where pg_temp.delay('default', a.attempt) between '1 us' and '1 h'),
    1000,
    'the default policy stays between nothing and an hour for a thousand attempts'
);
select is(
    (select bool_or(
        pg_temp.delay('doubling', a.attempt) < pg_temp.delay('doubling', a.attempt - 1)
    )
     from generate_series(2, 200) as a (attempt)),
    false,
    'a growing delay never shrinks'
);
select * from finish();
rollback;
