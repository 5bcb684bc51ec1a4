/* Day partitions of one table: those that end before p_keep_since go, those for today
and the next three days come. The only dynamic SQL. A day whose rows already fell into
the default partition stays there. Indexes are like the default partition's: the table
itself has none in an extension. Gives way to whoever holds the table for long: the
next call tries again. */
create or replace function rota._roll_partitions(p_table text, p_keep_since timestamptz)
returns integer
language plpgsql
volatile
parallel unsafe
set timezone = 'UTC'
set lock_timeout = '100ms'
as $$
declare
    v_today constant date := rota._now()::date;
    v_name text;
    v_is_needed boolean;
    v_dropped integer := 0;
begin
    for v_name in
        select c.relname
        from pg_inherits as i
        inner join pg_class as c on c.oid = i.inhrelid
        where i.inhparent = format('rota.%I', p_table)::regclass
            and c.relname ~ '_\d{8}$'
            and right(c.relname, 8)::date < p_keep_since::date
    loop
        execute format('drop table rota.%I', v_name);
        v_dropped := v_dropped + 1;
    end loop;

    for v_day in 0..3 loop
        v_name := p_table || to_char(v_today + v_day, '_YYYYMMDD');
        continue when to_regclass(format('rota.%I', v_name)) is not null;
        execute format(
            'select not exists (select from rota.%I'
            ' where finished_at >= %L and finished_at < %L)',
            p_table || '_default', v_today + v_day, v_today + v_day + 1
        ) into v_is_needed;
        continue when not v_is_needed;

        execute format(
            'create table rota.%I (like rota.%I including all)',
            v_name, p_table || '_default'
        );
        execute format(
            'alter table rota.%I attach partition rota.%I for values from (%L) to (%L)',
            p_table, v_name, v_today + v_day, v_today + v_day + 1
        );
    end loop;
    return v_dropped;
exception
    when lock_not_available then
        return 0;
end;
$$;
