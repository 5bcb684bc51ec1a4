create or replace function rota._cron_part(
    p_item text,
    p_field integer
)
returns text
language sql
immutable
parallel safe
as $$
    select format(
        '%s field, "%s"',
        ('{minute,hour,day of month,month,day of week}'::text[])[p_field],
        left(p_item, 40)
    );
$$;
