create or replace function rota._first_deadline(p_floor timestamptz)
returns timestamptz
language plpgsql
stable
parallel safe
as $$
begin
    return (
        select j.deadline_at
        from rota.job as j
        where j.deadline_at >= p_floor
        order by j.deadline_at
        limit 1
    );
end;
$$;
