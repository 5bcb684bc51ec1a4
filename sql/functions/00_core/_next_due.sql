create or replace function rota._next_due()
returns timestamptz
language plpgsql
stable
parallel safe
as $$
begin
    return (
        select j.run_at
        from rota.job as j
        where j.state = 'scheduled'
        order by j.run_at, j.id
        limit 1
    );
end;
$$;
