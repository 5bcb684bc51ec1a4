create or replace function rota._check_delays(p_delays interval[])
returns void
language plpgsql
stable
parallel safe
as $$
begin
    perform rota._check_duration('delays', g.delay, interval '0')
    from unnest(p_delays) as g (delay);
end;
$$;
