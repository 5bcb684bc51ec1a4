begin;
select plan(9);

select has_role(r.name::name, r.name || ' exists')
from (
    values ('rota_producer'), ('rota_worker'), ('rota_operator'), ('rota_observer')
) as r (name);

select is_empty(
    $$ select c.relname, a.grantee::regrole, a.privilege_type
       from pg_class as c
       cross join aclexplode(
           coalesce(c.relacl, acldefault('r', c.relowner))
       ) as a
       where c.relnamespace = 'rota'::regnamespace
           and c.relkind in ('r', 'p', 'S')
           and a.grantee <> c.relowner $$,
    'nobody has any right on a table, a partition or a sequence'
);
select is_empty(
    $$ select c.relname, t.attname
       from pg_attribute as t
       inner join pg_class as c on c.oid = t.attrelid
       where c.relnamespace = 'rota'::regnamespace and t.attacl is not null $$,
    'nobody has a right on a single column'
);
select is_empty(
    $$ select c.relname, a.grantee::regrole, a.privilege_type
       from pg_class as c
       cross join aclexplode(coalesce(c.relacl, acldefault('r', c.relowner))) as a
       where c.relnamespace = 'rota'::regnamespace
           and c.relkind = 'v'
           and a.grantee <> c.relowner
           and (
               a.privilege_type <> 'SELECT'
               or a.grantee::regrole::text not in ('rota_operator', 'rota_observer')
           ) $$,
    'views may be read by operators and observers, and nothing else'
);
select is_empty(
    $$ select a.grantee, a.privilege_type
       from pg_namespace as n
       cross join aclexplode(n.nspacl) as a
       where n.nspname = 'rota'
           and a.grantee <> n.nspowner
           and (a.privilege_type <> 'USAGE' or a.grantee = 0) $$,
    'the four roles may use the schema, nobody else may, and nobody creates in it'
);

/* The same asked by doing it: whoever a table were granted to, through whichever role,
would show here. */
select is_empty(
    $$ select r.role, c.relname
       from unnest(
           '{rota_producer,rota_worker,rota_operator,rota_observer}'::text[]
       ) as r (role)
       cross join pg_class as c
       where c.relnamespace = 'rota'::regnamespace
           and c.relkind in ('r', 'p')
           and has_table_privilege(
               r.role, c.oid, 'select, insert, update, delete, truncate'
           ) $$,
    'no role touches a table, by whatever path'
);
select * from finish();
rollback;
