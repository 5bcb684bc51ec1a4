create or replace function rota._cron_fires_within(
    p_cron rota.cron_expression,
    p_schedule rota.schedule,
    p_after timestamptz,
    p_until timestamptz,
    p_limit integer
)
returns timestamptz[]
language plpgsql
stable
parallel safe
as $$
/* The first p_limit fires after p_after and up to p_until; null: all of them. */
declare
    v_at timestamptz := p_after;
    v_found timestamptz[] := '{}'::timestamptz[];
begin
    while cardinality(v_found) < p_limit or p_limit is null loop
        v_at := rota._cron_next(
            p_cron, p_schedule.timezone, v_at, p_schedule.gap, p_schedule.repeat,
            p_schedule.anchor_at
        );
        exit when v_at is null or v_at > p_until;
        v_found := v_found || v_at;
    end loop;
    return v_found;
end;
$$;
