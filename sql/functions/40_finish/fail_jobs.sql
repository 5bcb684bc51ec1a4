create or replace function rota.fail_jobs(
    ids bigint[],
    executions integer[],
    errors text[],
    retryable boolean[] default null,
    delays interval[] default null
)
returns setof rota.settled_job
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
    perform rota._check_tokens(ids, executions);
    if errors is null
        or cardinality(errors) <> cardinality(ids)
        or cardinality(retryable) <> cardinality(ids)
        or cardinality(delays) <> cardinality(ids)
    then
        perform rota._raise_invalid(
            'errors, retryable and delays', 'must have the length of ids'
        );
    end if;
    perform rota._check_delays(delays);

    return query
    select e.*
    from rota._end_executions(
        ids, executions, array_fill('failed'::text, array[cardinality(ids)]),
        errors, retryable, delays
    ) as e;
end;
$$;
