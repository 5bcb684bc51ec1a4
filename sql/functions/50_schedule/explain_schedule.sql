create or replace function rota.explain_schedule(
    schedule text,
    timezone text default null,
    since timestamptz default null,
    until timestamptz default null,
    gap text default null,
    repeat text default null
)
returns setof rota.explained_fire
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_schedule rota.schedule;
    v_cron rota.cron_expression;
    v_zone text;
    v_since constant timestamptz := coalesce(explain_schedule.since, rota._now());
    v_until constant timestamptz := coalesce(
        explain_schedule.until, v_since + interval '744 hours'
    );
    v_gap text;
    v_repeat text;
begin
    select s.*
    into v_schedule
    from rota.schedule as s
    where s.name = explain_schedule.schedule;

    v_cron := rota._cron_parse(
        coalesce(v_schedule.expression, explain_schedule.schedule)
    );
    v_zone := rota._cron_zone(
        coalesce(explain_schedule.timezone, v_schedule.timezone, 'UTC')
    );
    v_gap := coalesce(explain_schedule.gap, v_schedule.gap, 'run_after');
    v_repeat := coalesce(explain_schedule.repeat, v_schedule.repeat, 'first');
    perform rota._cron_check_policy(v_gap, v_repeat);
    perform rota._cron_check_instant('since', v_since);
    perform rota._cron_check_instant('until', v_until);
    if v_cron.every is not null then
        return query
        select e.*
        from rota._cron_explain_every(
            v_cron, v_zone, v_since, v_until, coalesce(v_schedule.anchor_at, v_since)
        ) as e;
        return;
    end if;
    /* Two times made up or shown at one instant are one fire. */
    return query
    select
        e.due_at,
        e.local_time,
        e.utc_time,
        e.is_skipped or e.nth > 1,
        case when e.nth > 1 and not e.is_skipped
            then concat_ws('; ', e.note, 'one run with the line above')
            else e.note
        end
    from (
        select
            x.*,
            row_number() over (
                partition by x.due_at, x.is_skipped order by x.ordinality
            ) as nth
        from rota._cron_explain(v_cron, v_zone, v_since, v_until, v_gap, v_repeat)
            with ordinality as x
    ) as e
    order by e.due_at, e.ordinality;
end;
$$;
