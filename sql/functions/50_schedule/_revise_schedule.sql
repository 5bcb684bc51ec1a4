create or replace function rota._revise_schedule(
    p_old rota.schedule,
    p_new rota.schedule
)
returns void
language plpgsql
volatile
parallel unsafe
as $$
/* Store a changed definition of a locked schedule. Only a change of when it fires, or
the mending of a broken one, starts it afresh from now; a pause stays. */
declare
    v_now constant timestamptz := rota._now();
begin
    if p_old.expression <> p_new.expression then
        p_new.anchor_at := date_trunc('second', v_now);
    end if;
    if p_old.broken_at is not null
        or (p_old.expression, p_old.timezone, p_old.gap, p_old.repeat)
        <> (p_new.expression, p_new.timezone, p_new.gap, p_new.repeat)
    then
        p_new := rota._plan_schedule(p_new, v_now);
    end if;
    perform rota._update_schedule(p_new);
end;
$$;
