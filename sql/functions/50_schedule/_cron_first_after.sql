create or replace function rota._cron_first_after(
    p_times timestamptz[],
    p_after timestamptz
)
returns timestamptz
language sql
immutable
parallel safe
as $$
    select case
        when p_times[1] > p_after then p_times[1]
        when p_times[2] > p_after then p_times[2]
    end;
$$;
