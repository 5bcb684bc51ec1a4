/* The executions of exchange's JSON, each field checked before it is cast. */
create or replace function rota._returned_rows(p_returned jsonb)
returns setof rota._returned_execution
language plpgsql
stable
parallel safe
as $$
declare
    v_item jsonb;
    v_row rota._returned_execution;
begin
    if jsonb_typeof(p_returned) <> 'array' then
        perform rota._raise_invalid('returned', 'must be a JSON array');
    end if;

    for v_item in
        select e.item
        from jsonb_array_elements(p_returned) as e (item)
    loop
        if jsonb_typeof(v_item) <> 'object' then
            perform rota._raise_invalid('returned', 'must hold objects');
        elsif v_item ->> 'id' is null or v_item ->> 'id' !~ '^[0-9]{1,18}$' then
            perform rota._raise_invalid('returned', 'needs an id in each object');
        elsif v_item ->> 'execution' is null
            or v_item ->> 'execution' !~ '^[0-9]{1,9}$'
        then
            perform rota._raise_invalid(
                'returned', 'needs an execution in each object'
            );
        elsif v_item ->> 'outcome' is null
            or v_item ->> 'outcome'
                not in ('failed', 'timed_out', 'released', 'snoozed')
        then
            perform rota._raise_invalid(
                'returned', 'needs a known outcome in each object'
            );
        elsif jsonb_typeof(v_item -> 'retryable') not in ('boolean', 'null') then
            perform rota._raise_invalid(
                'returned', 'has a retryable that is no boolean'
            );
        elsif jsonb_typeof(v_item -> 'delay') not in ('number', 'null')
            or (v_item ->> 'delay')::numeric not between 0 and 3155760000
            or v_item ->> 'outcome' = 'snoozed' and v_item ->> 'delay' is null
        then
            perform rota._raise_invalid('returned', 'has a delay that is no duration');
        end if;

        v_row.id := (v_item ->> 'id')::bigint;
        v_row.execution := (v_item ->> 'execution')::integer;
        v_row.outcome := v_item ->> 'outcome';
        v_row.error := v_item ->> 'error';
        v_row.retryable := (v_item ->> 'retryable')::boolean;
        v_row.delay := make_interval(
            secs => round((v_item ->> 'delay')::numeric, 6)::double precision
        );
        return next v_row;
    end loop;
end;
$$;
