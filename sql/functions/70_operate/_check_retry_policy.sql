create or replace function rota._check_retry_policy(p_policy rota.retry_policy)
returns void
language plpgsql
stable
parallel safe
as $$
begin
    if p_policy.strategy is null
        or p_policy.strategy not in ('fixed', 'linear', 'exponential', 'list')
    then
        perform rota._raise_invalid(
            'strategy', 'must be fixed, linear, exponential or list'
        );
    elsif p_policy.strategy = 'list' then
        if array_ndims(p_policy.delays) is distinct from 1
            or array_lower(p_policy.delays, 1) <> 1
            or num_nulls(variadic p_policy.delays) > 0
        then
            perform rota._raise_invalid(
                'delays', 'must list at least one delay and no null'
            );
        end if;
        perform rota._check_delays(p_policy.delays);
    elsif p_policy.delays is not null then
        perform rota._raise_invalid('delays', 'need the strategy list');
    elsif p_policy.base is null then
        perform rota._raise_invalid('base', 'must not be null');
    end if;
    if p_policy.factor not between 0 and 1000
        or p_policy.strategy = 'exponential' and p_policy.factor < 1
    then
        perform rota._raise_invalid(
            'factor', 'must be at most 1000, and at least 1 to grow exponentially'
        );
    elsif p_policy.jitter is null
        or p_policy.jitter not in ('none', 'full', 'fraction')
    then
        perform rota._raise_invalid('jitter', 'must be none, full or fraction');
    elsif p_policy.jitter_fraction is null
        or p_policy.jitter_fraction not between 0 and 1
    then
        perform rota._raise_invalid('jitter_fraction', 'must be between 0 and 1');
    elsif p_policy.cap is null or p_policy.cap > interval '365 days' then
        perform rota._raise_invalid('cap', 'must be at most 365 days');
    end if;
    perform rota._check_duration('base', p_policy.base, interval '0');
    perform rota._check_duration('cap', p_policy.cap, interval '1 millisecond');
end;
$$;
