/* Functions that were not replaced are no longer part of rota, or have another
signature by now. */
do $$
declare
    v_function regprocedure;
begin
    for v_function in
        select p.oid
        from pg_proc as p
        where p.oid || '/' || p.xmin || '/' || p.ctid in (
            select unnest(current_setting('rota.functions_before')::text[])
        )
    loop
        execute format('drop function %s', v_function);
    end loop;
end;
$$;
