create or replace function rota._next_due()
returns timestamptz
language plpgsql
volatile
parallel unsafe
as $$
declare
    v_floor constant timestamptz := rota._time_floor('due');
begin
    return least(
        (
            select j.run_at
            from rota.job as j
            where j.state = 'scheduled' and j.run_at >= v_floor
            order by j.run_at, j.id
            limit 1
        ),
        (
            select s.next_fires[1]
            from rota.schedule as s
            where s.next_fires <> '{}'
            order by s.next_fires[1]
            limit 1
        )
    );
end;
$$;
