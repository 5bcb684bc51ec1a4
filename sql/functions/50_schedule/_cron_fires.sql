create or replace function rota._cron_fires(
    p_cron rota.cron_expression,
    p_zone text,
    p_local timestamp,
    p_gap text,
    p_repeat text
)
returns timestamptz[]
language plpgsql
stable
parallel safe
as $$
/* The instants at which a job fires for one wall-clock time its fields name. The rules
   are those of cron(8) on Debian: they hold for jobs at a fixed time and for changes of
   less than three hours; beyond that the clock was corrected and nothing is made up or
   held back. */
declare
    v_times constant timestamptz[] := rota._cron_instants(p_zone, p_local);
    v_change timestamptz;
begin
    if cardinality(v_times) = 1 or not p_cron.is_fixed then
        return v_times;
    end if;
    if cardinality(v_times) = 2 then
        if p_repeat = 'first' and v_times[2] - v_times[1] < interval '3 hours' then
            return v_times[1:1];
        end if;
        return v_times;
    end if;
    if p_gap = 'run_after' then
        v_change := rota._cron_gap_end(p_zone, p_local);
        if rota._cron_jump(p_zone, v_change) < interval '3 hours' then
            return array[v_change];
        end if;
    end if;
    return '{}'::timestamptz[];
end;
$$;
