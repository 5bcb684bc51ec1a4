/* A restored dump makes the extension first, which makes the rows of data.sql, and then
brings the rows that were there: the former give way to the latter. Ids are never used
again, so that nothing else ever inserts one that exists. */
create or replace function rota._on_restore_insert()
returns trigger
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
begin
    if tg_table_name = 'setting' then
        delete from rota.setting;
        return new;
    end if;

    delete from rota.lane as l
    using rota.queue as q
    where q.id = l.queue_id and q.retry_policy_id = new.id;

    delete from rota.queue as q
    where q.retry_policy_id = new.id;

    delete from rota.retry_policy as p
    where p.id = new.id;
    return new;
end;
$$;

revoke all on function rota._on_restore_insert from public;

create or replace trigger setting_restore before insert on rota.setting
for each row execute function rota._on_restore_insert();

create or replace trigger retry_policy_restore before insert on rota.retry_policy
for each row execute function rota._on_restore_insert();
