create or replace function rota._cron_count(
    p_cron rota.cron_expression,
    p_schedule rota.schedule,
    p_until timestamptz
)
returns integer
language plpgsql
stable
parallel safe
as $$
/* How many fires there were since the schedule was looked at last; counts to 1000. */
declare
    v_at timestamptz := p_schedule.checked_at;
    v_count integer := 0;
begin
    while v_count < 1000 loop
        v_at := rota._cron_next(
            p_cron, p_schedule.timezone, v_at, p_schedule.gap, p_schedule.repeat,
            p_schedule.anchor_at
        );
        exit when v_at is null or v_at > p_until;
        v_count := v_count + 1;
    end loop;
    return v_count;
end;
$$;
