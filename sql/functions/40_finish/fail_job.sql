create or replace function rota.fail_job(
    id bigint,
    execution integer,
    error text,
    retryable boolean default true,
    delay interval default null
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
    from rota.fail_jobs(
        array[id], array[execution], array[error], array[retryable], array[delay]
    ) as s;
    if not found then
        perform rota._raise_refused(id, execution);
    end if;
    return v_settled;
end;
$$;
