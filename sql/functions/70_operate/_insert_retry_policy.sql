create or replace function rota._insert_retry_policy(p_policy rota.retry_policy)
returns boolean
language plpgsql
volatile
parallel unsafe
as $$
begin
    insert into rota.retry_policy (
        name, strategy, base, factor, cap, delays, jitter, jitter_fraction
    )
    values (
        p_policy.name, p_policy.strategy, p_policy.base, p_policy.factor, p_policy.cap,
        p_policy.delays, p_policy.jitter, p_policy.jitter_fraction
    )
    on conflict (name) do nothing;
    return found;
end;
$$;
