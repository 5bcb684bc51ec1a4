create or replace function rota._cron_instants(
    p_zone text,
    p_local timestamp
)
returns timestamptz[]
language plpgsql
immutable
parallel safe
as $$
/* Every instant at which the clocks of the zone show this time, in order: one as a
rule, none in a gap, two in a repeated hour. PostgreSQL's own conversion always answers
with one and does not say which kind it was.
All of them lie within 16 hours of the same time in UTC, since no zone ever was further
away, and no two clock changes ever were closer than six days: the offsets at the two
ends are the only candidates. */
declare
    v_early constant timestamptz := (p_local - interval '16 hours') at time zone 'UTC';
    v_late constant timestamptz := (p_local + interval '16 hours') at time zone 'UTC';
    v_first constant timestamptz := (
        p_local + (p_local - interval '16 hours' - (v_early at time zone p_zone))
    ) at time zone 'UTC';
    v_second constant timestamptz := (
        p_local + (p_local + interval '16 hours' - (v_late at time zone p_zone))
    ) at time zone 'UTC';
    v_found timestamptz[] := '{}'::timestamptz[];
begin
    if v_first = v_second then
        return array[v_first];
    end if;
    if (v_first at time zone p_zone) = p_local then
        v_found := v_found || v_first;
    end if;
    if (v_second at time zone p_zone) = p_local then
        v_found := v_found || v_second;
    end if;
    return v_found;
end;
$$;
