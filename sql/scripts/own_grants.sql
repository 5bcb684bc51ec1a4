/* What had to be made anew is granted again to whom it was granted before. */
do $$
declare
    v_grant record;
begin
    for v_grant in
        select
            g.kind,
            g.name,
            g.privilege,
            g.is_grantable,
            pg_get_userbyid(g.grantee) as role
        from jsonb_to_recordset(current_setting('rota.grants_before')::jsonb) as g (
            kind text, name name, grantee oid, privilege text, is_grantable boolean
        )
        where
            (g.kind = 'function' and exists (
                select from pg_proc as p
                where p.pronamespace = 'rota'::regnamespace and p.proname = g.name
            ))
            or (g.kind = 'table' and exists (
                select from pg_class as c
                where c.relnamespace = 'rota'::regnamespace and c.relname = g.name
            ))
    loop
        execute format(
            'grant %s on %s rota.%I to %I %s',
            v_grant.privilege, v_grant.kind, v_grant.name, v_grant.role,
            case when v_grant.is_grantable then 'with grant option' else '' end
        );
    end loop;
end;
$$;
