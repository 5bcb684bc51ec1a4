/* pg_dump leaves out what an extension made, unless told to carry the rows. */
do $$
declare
    v_relation regclass;
begin
    for v_relation in
        select c.oid
        from pg_class as c
        inner join pg_depend as d
            on d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'e'
        where c.relnamespace = 'rota'::regnamespace and c.relkind in ('r', 'S')
    loop
        perform pg_extension_config_dump(v_relation, '');
    end loop;
end;
$$;
