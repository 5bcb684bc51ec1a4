/* A restored dump has made the schema, and left it empty. */
do $$
begin
    if exists (select from pg_class where relnamespace = 'rota'::regnamespace)
        or exists (select from pg_proc where pronamespace = 'rota'::regnamespace)
        or exists (select from pg_type where typnamespace = 'rota'::regnamespace)
    then
        raise exception 'schema rota already exists, and is not empty'
            using errcode = 'duplicate_schema',
                hint = case
                    when to_regprocedure('rota.version()') is null
                        then 'It is not an installation of rota.'
                    else 'rota is installed without the extension: use rota upgrade.'
                end;
    elsif not pg_has_role(
        (select nspowner from pg_namespace where nspname = 'rota'), 'usage'
    ) then
        raise exception 'schema rota belongs to somebody else'
            using errcode = 'insufficient_privilege';
    end if;
end;
$$;
