set local lock_timeout = '30s';

/* Constraints that were added NOT VALID hold for new rows at once; here the old ones
are read, while everybody goes on. */
do $$
declare
    v_constraint record;
begin
    for v_constraint in
        select c.conrelid::regclass as owner, c.conname as name
        from pg_constraint as c
        where
            c.connamespace = to_regnamespace('rota')
            and c.conparentid = 0
            and c.coninhcount = 0
            and not c.convalidated
    loop
        execute format(
            'alter table %s validate constraint %I',
            v_constraint.owner, v_constraint.name
        );
    end loop;
end;
$$;
