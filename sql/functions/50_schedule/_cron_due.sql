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
/* The latest p_limit fires after p_after and up to p_until, in order. As a rule few are
due, and counting forward finds them. When there are more than are wanted, look back
from p_until through a window that doubles until it holds enough: a long downtime costs
no more than the fires that are wanted. */
declare
    v_width interval := interval '1 minute';
    v_from timestamptz := p_after;
    v_found timestamptz[] := rota._cron_fires_within(
        p_cron, p_schedule, p_after, p_until, p_limit + 1
    );
begin
    if cardinality(v_found) <= p_limit then
        return v_found;
    end if;
    loop
        v_from := greatest(p_after, p_until - v_width);
        v_found := rota._cron_fires_within(p_cron, p_schedule, v_from, p_until, null);
        exit when cardinality(v_found) >= p_limit;
        v_width := v_width * 2;
    end loop;
    return v_found[cardinality(v_found) - p_limit + 1:];
end;
$$;
