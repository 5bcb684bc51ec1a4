create or replace function rota.materialize_schedules(
    max_schedules integer default 1000
)
returns integer
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
as $$
/* One schedule after the other, since each is a subtransaction of its own: what breaks
one, its expression, zone, payload or queue, sets that one aside. Anything else, such as
a cancelled statement or a deadlock, is not the schedule's fault and goes up. */
declare
    v_now timestamptz := rota._now();
    v_schedule rota.schedule;
    v_count integer := 0;
    v_message text;
    v_detail text;
begin
    perform rota._check_positive('max_schedules', max_schedules);
    for v_schedule in
        select s.*
        from rota.schedule as s
        where s.next_fires <> '{}' and s.next_fires[1] <= v_now
        order by s.next_fires[1]
        limit least(max_schedules, 10000)
        for update skip locked
    loop
        begin
            v_count := v_count + rota._fire_schedule(v_schedule, v_now);
        exception
            when sqlstate 'RT003' or sqlstate 'RT004' or sqlstate 'RT008'
                or data_exception or integrity_constraint_violation
                or syntax_error_or_access_rule_violation or program_limit_exceeded
            then
                get stacked diagnostics
                    v_message = message_text,
                    v_detail = pg_exception_detail;
                update rota.schedule as s
                set broken_at = v_now,
                    error = left(
                        concat_ws(': ', v_message, nullif(v_detail, '')), 2000
                    ),
                    next_fires = '{}'
                where s.id = v_schedule.id;
        end;
    end loop;
    return v_count;
end;
$$;
