/* Roles belong to the whole server: another database may have made them already. */
do $$
declare
    v_role text;
begin
    foreach v_role in array array[
        'rota_producer', 'rota_worker', 'rota_operator', 'rota_observer'
    ]
    loop
        if to_regrole(v_role) is null then
            execute format('create role %I nologin', v_role);
        end if;
    end loop;
exception
    when duplicate_object or unique_violation then
        raise exception using
            errcode = 'object_in_use',
            message = 'another install is creating the same roles',
            hint = 'Run the install again.';
    when insufficient_privilege then
        raise exception using
            errcode = 'insufficient_privilege',
            message = format('%s may not create the roles of rota', current_user),
            hint = 'Let an administrator run what rota sql --roles prints,'
                ' or leave the roles out: rota install --no-roles.';
end;
$$;
