do $$
begin
    if exists (select from pg_extension where extname = 'rota') then
        raise exception 'rota is installed as an extension'
            using errcode = 'RT006', hint = 'alter extension rota update';
    end if;
end;
$$;
