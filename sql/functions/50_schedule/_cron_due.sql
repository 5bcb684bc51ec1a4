create or replace function rota._cron_due(
    p_cron rota.cron_expression,
    p_schedule rota.schedule,
    p_after timestamptz,
    p_until timestamptz,
    p_limit integer
)
returns timestamptz[]
language plpgsql
stable
parallel safe
as $$
/* The latest p_limit fires after p_after and up to p_until, in order. Looks back from
p_until through a window that doubles until it holds enough, so that a long downtime
costs no more than the fires that are wanted. */
declare
    v_width interval := '1 minute';
    v_from timestamptz;
    v_at timestamptz;
    v_found timestamptz[];
begin
    loop
        v_from := greatest(p_after, p_until - v_width);
        v_at := v_from;
        v_found := '{}';
        loop
            v_at := rota._cron_next(
                p_cron, p_schedule.timezone, v_at, p_schedule.gap, p_schedule.repeat,
                p_schedule.anchor_at
            );
            exit when v_at is null or v_at > p_until;
            v_found := v_found || v_at;
        end loop;
        if cardinality(v_found) >= p_limit or v_from <= p_after then
            return v_found[greatest(1, cardinality(v_found) - p_limit + 1):];
        end if;
        v_width := v_width * 2;
    end loop;
end;
$$;
