do $$
declare
    v_function regprocedure;
begin
    for v_function in
        select p.oid
        from pg_proc as p
        where p.pronamespace = to_regnamespace('rota')
            and obj_description(p.oid, 'pg_proc') = 'left over by an upgrade'
    loop
        execute format('drop function %s', v_function);
    end loop;
end;
$$;
