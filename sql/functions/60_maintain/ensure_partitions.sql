create or replace function rota.ensure_partitions()
returns integer
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_keep_since timestamptz;
begin
    if not pg_try_advisory_xact_lock(rota._lock_class(), 3) then
        return 0;
    end if;

    select rota._now() - s.retention
    into v_keep_since
    from rota.setting as s;
    return rota._roll_partitions('archive', v_keep_since)
        + rota._roll_partitions('attempt', v_keep_since);
end;
$$;
