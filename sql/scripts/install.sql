set local check_function_bodies = on;

do $$
begin
    if to_regnamespace('rota') is not null then
        raise exception 'schema rota already exists'
            using errcode = 'duplicate_schema',
                hint = case
                    when to_regprocedure('rota.version()') is null
                        then 'It is not an installation of rota.'
                    else 'select rota.version() says which version it is.'
                end;
    end if;
end;
$$;

create schema rota;
