create or replace function rota.snooze_jobs(
    ids bigint[],
    executions integer[],
    delays interval[]
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
    if delays is null
        or cardinality(delays) <> cardinality(ids)
        or num_nulls(variadic delays) > 0
    then
        perform rota._raise_invalid(
            'delays', 'must have the length of ids and no null'
        );
    end if;
    perform rota._check_delays(delays);

    return query
    select e.*
    from rota._end_executions(
        ids, executions, array_fill('snoozed'::text, array[cardinality(ids)]),
        p_delays => delays
    ) as e;
end;
$$;
