/* Calls that began before the functions were replaced are over when the transactions
of then are, or have nothing to do. Five seconds are enough for all but the odd one. */
do $$
declare
    v_limit constant timestamptz := clock_timestamp() + interval '5 seconds';
    v_earlier constant text[] := array(
        select l.virtualxid
        from pg_locks as l
        where l.locktype = 'virtualxid' and l.pid <> pg_backend_pid()
    );
begin
    while clock_timestamp() < v_limit and exists (
        select
        from pg_locks as l
        inner join pg_stat_activity as a on a.pid = l.pid
        where l.virtualxid = any (v_earlier)
            and a.datname = current_database()
            and a.state is distinct from 'idle in transaction'
            and a.backend_type is distinct from 'autovacuum worker'
    )
    loop
        perform pg_sleep(0.01);
        perform pg_stat_clear_snapshot();
    end loop;
end;
$$;
