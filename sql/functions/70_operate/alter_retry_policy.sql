create or replace function rota.alter_retry_policy(
    policy text,
    strategy text default null,
    base interval default null,
    factor double precision default null,
    cap interval default null,
    delays interval[] default null,
    jitter text default null,
    jitter_fraction double precision default null
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
    select rp.*
    into v_policy
    from rota.retry_policy as rp
    where rp.id = rota._retry_policy_id(policy)
    for no key update;
    if policy is null then
        perform rota._raise_invalid('policy', 'must not be null');
    end if;

    v_policy.strategy := coalesce(strategy, v_policy.strategy);
    v_policy.base := case
        when v_policy.strategy <> 'list' then coalesce(base, v_policy.base)
    end;
    v_policy.factor := case v_policy.strategy
        when 'exponential' then coalesce(factor, v_policy.factor, 2)
        when 'linear' then coalesce(factor, v_policy.factor, 1)
    end;
    v_policy.cap := coalesce(cap, v_policy.cap);
    v_policy.delays := case
        when v_policy.strategy = 'list' then coalesce(delays, v_policy.delays)
        else delays
    end;
    v_policy.jitter := coalesce(jitter, v_policy.jitter);
    v_policy.jitter_fraction := coalesce(jitter_fraction, v_policy.jitter_fraction);
    perform rota._check_retry_policy(v_policy);

    update rota.retry_policy as rp
    set strategy = v_policy.strategy,
        base = v_policy.base,
        factor = v_policy.factor,
        cap = v_policy.cap,
        delays = v_policy.delays,
        jitter = v_policy.jitter,
        jitter_fraction = v_policy.jitter_fraction
    where rp.id = v_policy.id;
end;
$$;
