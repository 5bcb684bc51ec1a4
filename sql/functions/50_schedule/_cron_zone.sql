create or replace function rota._cron_zone(
    p_zone text
)
returns text
language plpgsql
volatile
parallel unsafe
set timezone = 'UTC'
as $$
/* The canonical spelling of an IANA zone name, or RT004. pg_timezone_names would tell
but takes 10 ms or more. So let the TimeZone setting, which the clause above restores,
look the name up: unlike at time zone it knows no abbreviations. It does take POSIX
rules such as XYZ+5, which always hold a digit; names with one are looked up in the
view. CET and the like are zone names, but at time zone reads them as abbreviations,
whose meaning a session can change. Factory, local* and posix* are no places. */
declare
    v_name text;
begin
    if length(p_zone) <= 64 and p_zone ~ '^[A-Za-z][A-Za-z0-9_+/-]*$'
        and lower(p_zone collate "C")
            !~ '^(cet|eet|est|hst|met|mst|wet|factory|local.*|posix.*)$'
    then
        begin
            v_name := set_config('TimeZone', p_zone, true);
        exception
            when invalid_parameter_value then
                v_name := null;
        end;
        if v_name ~ '[0-9]' then
            v_name := (
                select min(z.name)
                from pg_catalog.pg_timezone_names as z
                where lower(z.name collate "C") = lower(p_zone collate "C")
            );
        end if;
    end if;
    if v_name is null or lower(v_name collate "C") <> lower(p_zone collate "C") then
        raise exception using
            errcode = 'RT004',
            message = 'invalid time zone',
            detail = case
                when p_zone is null then 'time zone: null.'
                else format(
                    'time zone, "%s": not an accepted name of the IANA database.',
                    left(p_zone, 40)
                )
            end,
            hint = 'Write the name of a place, as in Europe/Paris, or UTC. '
                'Abbreviations, also EST and CET, offsets and POSIX rules are not '
                'accepted; see pg_timezone_names.';
    end if;
    return v_name;
end;
$$;
