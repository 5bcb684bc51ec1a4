create or replace function rota.purge_archive(max_jobs integer default 1000)
returns integer
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_count integer;
    v_purged integer := 0;
    v_cutoff timestamptz;
    v_queue record;
begin
    perform rota._check_positive('max_jobs', max_jobs);
    if not pg_try_advisory_xact_lock(rota._lock_class(), 4) then
        return 0;
    end if;

    select date_bin('5 minutes', rota._now() - s.retention, timestamptz 'epoch')
    into v_cutoff
    from rota.setting as s;
    v_purged := rota._purge_default_partitions(v_cutoff, max_jobs);

    /* Queue by queue: each remembers how far it came, so that rows which stay are not
    read again every time. One that somebody is changing is left for the next time: all
    that maintain() did so far would wait with us. */
    for v_queue in
        select
            q.id,
            q.purged_before,
            date_bin(
                '5 minutes', rota._now() - q.retention, timestamptz 'epoch'
            ) as cutoff
        from rota.queue as q
        where q.retention > '0'
            and q.purged_before
            < date_bin('5 minutes', rota._now() - q.retention, timestamptz 'epoch')
        for no key update skip locked
    loop
        v_count := rota._purge_queue(
            v_queue.id, v_queue.purged_before, v_queue.cutoff, max_jobs
        );
        v_purged := v_purged + v_count;
        if v_count < max_jobs then
            update rota.queue as q
            set purged_before = v_queue.cutoff
            where q.id = v_queue.id;
        end if;
    end loop;
    return v_purged;
end;
$$;
