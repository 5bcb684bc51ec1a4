create or replace function rota._cron_notes(
    p_cron rota.cron_expression,
    p_zone text,
    p_local timestamp,
    p_gap text,
    p_repeat text
)
returns setof rota.explained_fire
language plpgsql
stable
parallel safe
as $$
/* What becomes of one wall-clock time the fields name, with the reason where it is not
simply one fire. What fires is asked of _cron_fires, so that the explanation cannot
disagree with what happens. */
declare
    v_fires constant timestamptz[] := rota._cron_fires(
        p_cron, p_zone, p_local, p_gap, p_repeat
    );
    v_times timestamptz[] := rota._cron_instants(p_zone, p_local);
    v_time constant text := to_char(p_local, 'HH24:MI');
    v_clock text;
    v_note text;
begin
    if cardinality(v_times) = 0 then
        v_times := array[rota._cron_gap_end(p_zone, p_local)];
        v_note := v_time || ' does not exist on this day: ' || case
            when v_fires[1] is not null
                then 'runs at ' || to_char(v_times[1] at time zone p_zone, 'HH24:MI')
            when not p_cron.is_fixed
                then 'skipped, as the schedule follows the wall clock'
            when p_gap = 'skip' then 'skipped'
            else 'skipped, as the clocks go forward by 3 hours or more'
        end;
        if v_fires[1] is null then
            v_clock := to_char(p_local, 'Dy YYYY-MM-DD HH24:MI:SS');
        end if;
    elsif cardinality(v_times) = 2 then
        v_note := format('first of two %ss', v_time);
    end if;

    return query select
        v_times[1],
        coalesce(v_clock, rota._cron_clock(v_times[1], p_zone)),
        to_char(v_times[1] at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS'),
        v_fires[1] is null,
        v_note;
    if cardinality(v_times) = 2 then
        return query select
            v_times[2],
            rota._cron_clock(v_times[2], p_zone),
            to_char(v_times[2] at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS'),
            v_fires[2] is null,
            format('second of two %ss', v_time)
            || case when v_fires[2] is null then ': does not run again' else '' end;
    end if;
end;
$$;
