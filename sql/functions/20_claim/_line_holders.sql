/* The virtual transactions that may hold a position. A prepared transaction keeps its
name, until a restart makes it one of the -1. */
create or replace function rota._line_holders()
returns text[]
language plpgsql
volatile
parallel unsafe
as $$
begin
    return array(
        select case
            when l.virtualtransaction like '-1/%' then '-1'
            else l.virtualtransaction
        end
        from pg_locks as l
        where l.locktype = 'advisory'
            and l.classid = rota._lock_class()::oid
            and l.objid = 1::oid
            and l.objsubid = 2
            and l.granted
            and l.database = (
                select d.oid
                from pg_database as d
                where d.datname = current_database()
            )
    );
end;
$$;
