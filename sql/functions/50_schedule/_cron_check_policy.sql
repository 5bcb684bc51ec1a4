create or replace function rota._cron_check_policy(
    p_gap text,
    p_repeat text
)
returns void
language plpgsql
immutable
parallel safe
as $$
begin
    if p_gap is null or p_gap not in ('run_after', 'skip') then
        raise exception using
            errcode = '22023',
            message = 'invalid gap policy',
            detail = format('gap is %L.', left(p_gap, 40)),
            hint = 'Write run_after or skip.';
    end if;
    if p_repeat is null or p_repeat not in ('first', 'both') then
        raise exception using
            errcode = '22023',
            message = 'invalid repeat policy',
            detail = format('repeat is %L.', left(p_repeat, 40)),
            hint = 'Write first or both.';
    end if;
end;
$$;
