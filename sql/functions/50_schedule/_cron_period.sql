create or replace function rota._cron_period(
    p_every interval
)
returns text
language plpgsql
immutable
parallel safe
as $$
declare
    v_seconds constant bigint := extract(epoch from p_every);
    v_words text[];
begin
    select array_agg(
        format('%s %s%s', u.number, u.name, case when u.number > 1 then 's' end)
        order by u.rank
    )
    into v_words
    from (
        values
        (1, v_seconds / 86400, 'day'),
        (2, v_seconds / 3600 % 24, 'hour'),
        (3, v_seconds / 60 % 60, 'minute'),
        (4, v_seconds % 60, 'second')
    ) as u (rank, number, name)
    where u.number > 0;
    return regexp_replace(rota._cron_and(v_words), '^1 ([a-z]+)$', '\1');
end;
$$;
