create or replace function rota._purge_queue(
    p_queue_id integer,
    p_since timestamptz,
    p_until timestamptz,
    p_max_jobs integer
)
returns integer
language plpgsql
volatile
parallel unsafe
as $$
declare
    v_count integer;
begin
    delete from rota.archive as a
    using (
        select
            o.id,
            o.finished_at
        from rota.archive as o
        where o.finished_at >= p_since
            and o.finished_at < p_until
            and o.lane_id in (
                select l.id
                from rota.lane as l
                where l.queue_id = p_queue_id
            )
        limit p_max_jobs
    ) as expired
    where a.id = expired.id and a.finished_at = expired.finished_at;

    get diagnostics v_count = row_count;
    return v_count;
end;
$$;
