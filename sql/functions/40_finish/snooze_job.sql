create or replace function rota.snooze_job(
    id bigint,
    execution integer,
    delay interval
)
returns rota.settled_job
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_settled rota.settled_job;
begin
    select s.*
    into v_settled
    from rota.snooze_jobs(array[id], array[execution], array[delay]) as s;
    if not found then
        perform rota._raise_refused(id, execution);
    end if;
    return v_settled;
end;
$$;
