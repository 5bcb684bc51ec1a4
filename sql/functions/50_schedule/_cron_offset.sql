create or replace function rota._cron_offset(
    p_zone text,
    p_at timestamptz
)
returns interval
language sql
immutable
parallel safe
as $$
    select (p_at at time zone p_zone) - (p_at at time zone 'UTC');
$$;
