/* Functions that were not replaced are no longer part of rota, or have another
signature by now. Calls that run at this moment may still need them, so they are only
marked; but comments and grants do not say which of two public ones they mean. */
do $$
declare
    v_function record;
begin
    for v_function in
        select
            p.oid::regprocedure as signature,
            p.proname !~ '^_' and exists (
                select
                from pg_proc as o
                where o.pronamespace = p.pronamespace
                    and o.proname = p.proname
                    and o.oid <> p.oid
            ) as is_ambiguous
        from pg_proc as p
        where p.oid || '/' || p.xmin || '/' || p.ctid in (
            select unnest(current_setting('rota.functions_before')::text[])
        )
    loop
        if v_function.is_ambiguous then
            execute format('drop function %s', v_function.signature);
        else
            execute format(
                'comment on function %s is %L',
                v_function.signature, 'left over by an upgrade'
            );
        end if;
    end loop;
end;
$$;
