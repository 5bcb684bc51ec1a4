create or replace function rota._last_position()
returns bigint
language plpgsql
volatile
parallel unsafe
as $$
begin
    return (select s.last_value from rota.position_seq as s);
end;
$$;
