/* Oldest death first, locked; null filters nothing. The callers ask for plans made for
the values given, so that ids lead to their rows and what is not given costs nothing. */
create or replace function rota._dead_ids(
    p_ids bigint[],
    p_queue text,
    p_kind text,
    p_reason text,
    p_died_before timestamptz,
    p_max_jobs integer
)
returns bigint[]
language plpgsql
volatile
parallel unsafe
as $$
declare
    v_queue_id integer;
begin
    perform rota._check_positive('max_jobs', p_max_jobs);
    if num_nonnulls(p_ids, p_queue, p_kind, p_reason, p_died_before) = 0 then
        perform rota._raise_invalid(
            'filter', 'must name ids or some property of the jobs'
        );
    end if;
    if p_queue is not null then
        v_queue_id := (rota._find_queue(p_queue)).id;
    end if;

    return array(
        select d.id
        from rota.dead_letter as d
        inner join rota.lane as l on l.id = d.lane_id
        where (p_ids is null or d.id = any (p_ids))
            and (v_queue_id is null or l.queue_id = v_queue_id)
            and (p_kind is null or d.kind = p_kind)
            and (p_reason is null or d.reason = p_reason)
            and (p_died_before is null or d.died_at < p_died_before)
        order by d.died_at, d.id
        limit p_max_jobs
        for update of d skip locked
    );
end;
$$;
