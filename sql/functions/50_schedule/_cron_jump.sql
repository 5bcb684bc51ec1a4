create or replace function rota._cron_jump(
    p_zone text,
    p_change timestamptz
)
returns interval
language plpgsql
stable
parallel safe
as $$
/* By how much the clocks go forward at a change; negative when they go back. */
begin
    return rota._cron_offset(p_zone, p_change)
        - rota._cron_offset(p_zone, p_change - interval '1 second');
end;
$$;
