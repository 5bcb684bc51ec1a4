create or replace function rota._cron_gap_end(
    p_zone text,
    p_local timestamp
)
returns timestamptz
language plpgsql
stable
parallel safe
as $$
/* The first instant after the gap that p_local, a time the clocks never show, lies in.
*/
begin
    return rota._cron_change(
        p_zone,
        (p_local - interval '16 hours') at time zone 'UTC',
        (p_local + interval '16 hours') at time zone 'UTC'
    );
end;
$$;
