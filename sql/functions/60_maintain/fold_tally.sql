create or replace function rota.fold_tally()
returns integer
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_count integer;
begin
    if not pg_try_advisory_xact_lock(rota._lock_class(), 2) then
        return 0;
    end if;

    with folded as (
        delete from rota.tally as t
        where t.ctid = any (array(
            select o.ctid
            from rota.tally as o
            where o.queue_id in (
                select c.queue_id
                from rota.tally as c
                group by c.queue_id
                having count(*) > 1
            )
            for update skip locked
        ))
        returning t.*
    )

    insert into rota.tally (queue_id, completed_count, cancelled_count)
    select
        f.queue_id,
        sum(f.completed_count),
        sum(f.cancelled_count)
    from folded as f
    group by f.queue_id;
    get diagnostics v_count = row_count;
    return v_count;
end;
$$;
