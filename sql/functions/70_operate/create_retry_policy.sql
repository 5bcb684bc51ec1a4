create or replace function rota.create_retry_policy(
    policy text,
    strategy text default 'exponential',
    base interval default '5 seconds',
    factor double precision default null,
    cap interval default null,
    delays interval[] default null,
    jitter text default 'fraction',
    jitter_fraction double precision default 0.25
)
returns void
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_policy rota.retry_policy;
begin
    perform rota._check_text('policy', policy, 100);
    v_policy.name := policy;
    v_policy.strategy := strategy;
    v_policy.base := case when strategy <> 'list' then base end;
    v_policy.factor := case strategy
        when 'exponential' then coalesce(factor, 2)
        when 'linear' then coalesce(factor, 1)
    end;
    v_policy.delays := delays;
    v_policy.cap := coalesce(cap, greatest(interval '1 hour', (
        select max(g.delay)
        from unnest(delays) as g (delay)
    )));
    v_policy.jitter := jitter;
    v_policy.jitter_fraction := jitter_fraction;
    perform rota._check_retry_policy(v_policy);

    if not rota._insert_retry_policy(v_policy) then
        perform rota._raise_exists('retry policy', policy);
    end if;
end;
$$;
