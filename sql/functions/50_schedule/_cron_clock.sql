create or replace function rota._cron_clock(
    p_at timestamptz,
    p_zone text
)
returns text
language plpgsql
stable
parallel safe
as $$
/* Weekday, wall-clock time and UTC offset, in words no session setting can change. */
declare
    v_offset constant interval := rota._cron_offset(p_zone, p_at);
begin
    return to_char(p_at at time zone p_zone, 'Dy YYYY-MM-DD HH24:MI:SS ')
        || case when v_offset < interval '0' then '-' else '+' end
        || to_char(greatest(v_offset, - v_offset), 'HH24:MI');
end;
$$;
