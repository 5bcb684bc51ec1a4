create or replace function rota._unarchived_lanes()
returns integer[]
language plpgsql
stable
parallel safe
as $$
begin
    return array(
        select l.id
        from rota.queue as q
        inner join rota.lane as l on l.queue_id = q.id
        where q.retention = '0'
    );
end;
$$;
