create or replace function rota._cron_refuse(
    p_part text,
    p_reason text,
    p_hint text default null
)
returns void
language plpgsql
stable
parallel safe
as $$
/* Every refusal of an expression comes from here. What the caller wrote is cut short,
   so that neither a long text nor a secret pasted by mistake fills the log. */
begin
    raise exception using
        errcode = 'RT004',
        message = 'invalid cron expression',
        detail = format('%s: %s.', p_part, p_reason),
        hint = coalesce(
            p_hint,
            'The fields are minute (0-59), hour (0-23), day of month (1-31 or L), '
            'month (1-12 or jan-dec) and day of week (0-7 or sun-sat).'
        );
end;
$$;
