do $$
declare
    v_owner name;
begin
    if to_regprocedure('rota.version()') is null then
        raise exception 'rota is not installed in this database'
            using errcode = 'RT006', hint = 'Run rota install.';
    elsif rota.version() <> '@FROM@' then
        raise exception 'this upgrades rota @FROM@ to @VERSION@'
            using errcode = 'RT006',
                detail = format('The database has rota %s.', rota.version());
    end if;

    /* A superuser may upgrade what somebody else owns; the new parts are theirs too. */
    select pg_get_userbyid(p.proowner)
    into v_owner
    from pg_proc as p
    where p.oid = 'rota.version()'::regprocedure;
    if not pg_has_role(v_owner, 'member') then
        raise exception 'only the owner of rota may upgrade it'
            using errcode = 'insufficient_privilege',
                detail = format('It belongs to %s.', v_owner);
    elsif v_owner <> current_user then
        perform set_config('role', v_owner, true);
    end if;
end;
$$;

/* Functions are replaced before the tables they use have changed. */
set local check_function_bodies = off;

/* First what disturbs nobody but vacuums, and therefore may take its time: without it,
a vacuum would have us wait for one table while we lock others. */
set local lock_timeout = '30s';
do $$
declare
    v_table regclass;
begin
    for v_table in
        select c.oid
        from pg_class as c
        where c.relnamespace = 'rota'::regnamespace and c.relkind in ('r', 'p')
        order by c.relispartition, c.oid
    loop
        execute format('lock table only %s in share update exclusive mode', v_table);
    end loop;
end;
$$;

/* From here on, who waits for us may hold what we wait for: give up before the server
takes that for a deadlock and ends one of us. */
set local lock_timeout = '500ms';

/* What functions there are, and who was granted what besides our own roles. */
select set_config('rota.functions_before', array(
    select p.oid || '/' || p.xmin || '/' || p.ctid
    from pg_proc as p
    where p.pronamespace = 'rota'::regnamespace
)::text, true);

select set_config('rota.grants_before', coalesce(jsonb_agg(g), '[]')::text, true)
from (
    select
        o.kind,
        o.name,
        a.grantee,
        a.privilege_type as privilege,
        a.is_grantable
    from (
        select
            'function' as kind,
            p.proname as name,
            p.proacl as acl,
            p.proowner as owner
        from pg_proc as p
        where p.pronamespace = 'rota'::regnamespace
        union all
        select
            'table',
            c.relname,
            c.relacl,
            c.relowner
        from pg_class as c
        where c.relnamespace = 'rota'::regnamespace and c.relkind in ('r', 'p', 'v')
    ) as o
    cross join lateral aclexplode(o.acl) as a
    where a.grantee not in (
        select r.oid
        from pg_roles as r
        where r.rolname in (
            'rota_producer', 'rota_worker', 'rota_operator', 'rota_observer'
        )
    )
    and a.grantee not in (0, o.owner)
) as g;
