/* Time from the failed attempt to the next: at least a microsecond, at most the cap.
Growth is compared as a logarithm first, so no attempt number can overflow. Jitter only
shortens: full draws from (0, delay], fraction from ((1 - fraction) * delay, delay]. */
create or replace function rota._retry_delay(p_policy_id integer, p_attempt integer)
returns interval
language plpgsql
volatile
parallel unsafe
as $$
declare
    v_policy rota.retry_policy;
    v_base double precision;
    v_cap double precision;
    v_delay double precision;
    v_steps constant double precision := greatest(p_attempt, 1) - 1;
    v_spread double precision;
begin
    select rp.*
    into strict v_policy
    from rota.retry_policy as rp
    where rp.id = p_policy_id;

    v_cap := extract(epoch from v_policy.cap);
    v_base := extract(epoch from v_policy.base);
    v_delay := case v_policy.strategy
        when 'fixed' then v_base
        when 'linear' then v_base * (1 + v_policy.factor * v_steps)
        when 'exponential' then
            case
                when v_base = 0 then 0
                when ln(v_base) + v_steps * ln(v_policy.factor) >= ln(v_cap) then v_cap
                else v_base * v_policy.factor ^ v_steps
            end
        else extract(epoch from v_policy.delays[
            least(greatest(p_attempt, 1), cardinality(v_policy.delays))
        ])
    end;

    v_spread := case v_policy.jitter
        when 'full' then 1
        when 'fraction' then v_policy.jitter_fraction
        else 0
    end;
    v_delay := least(v_delay, v_cap) * (1 - v_spread * random());
    return greatest(make_interval(secs => v_delay), interval '1 microsecond');
end;
$$;
