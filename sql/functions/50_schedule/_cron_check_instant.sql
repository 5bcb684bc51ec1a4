create or replace function rota._cron_check_instant(
    p_name text,
    p_at timestamptz
)
returns void
language plpgsql
immutable
parallel safe
as $$
/* Years 1 to 9999: the search looks 400 years ahead and must not overflow. */
begin
    if p_at is null
        or p_at < '0001-01-02 00:00+00'
        or p_at >= '9999-12-31 00:00+00'
    then
        raise exception using
            errcode = '22023',
            message = 'instant out of range',
            detail = format('%s is not within the years 1 to 9999.', p_name);
    end if;
end;
$$;
