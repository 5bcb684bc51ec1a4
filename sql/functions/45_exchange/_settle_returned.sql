create or replace function rota._settle_returned(p_returned jsonb)
returns setof rota.exchanged
language plpgsql
volatile
parallel unsafe
as $$
declare
    v_ids bigint[];
    v_executions integer[];
    v_outcomes text[];
    v_errors text[];
    v_retryable boolean[];
    v_delays interval[];
    v_settled bigint[];
begin
    select
        array_agg(r.id),
        array_agg(r.execution),
        array_agg(r.outcome),
        array_agg(r.error),
        array_agg(coalesce(r.retryable, true)),
        array_agg(r.delay)
    into v_ids, v_executions, v_outcomes, v_errors, v_retryable, v_delays
    from rota._returned_rows(p_returned) as r;
    if v_ids is null then
        return;
    end if;

    v_settled := array(
        select e.id
        from rota._end_executions(
            v_ids, v_executions, v_outcomes, v_errors, v_retryable, v_delays
        ) as e
    );
    return query
    select r.*
    from rota._refused(v_ids, v_executions, v_settled) as r;
end;
$$;
