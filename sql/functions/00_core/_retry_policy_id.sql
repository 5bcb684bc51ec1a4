/* null names no policy: the queue's applies. */
create or replace function rota._retry_policy_id(p_policy text)
returns integer
language plpgsql
stable
parallel safe
as $$
declare
    v_id integer;
begin
    if p_policy is null then
        return null;
    end if;

    select rp.id
    into v_id
    from rota.retry_policy as rp
    where rp.name = p_policy;

    if v_id is null then
        raise exception using
            errcode = 'undefined_object',
            message = 'no such retry policy',
            detail = pg_catalog.format(
                'retry policy %s', pg_catalog.quote_literal(p_policy)
            ),
            hint = 'Create it with rota.create_retry_policy.';
    end if;
    return v_id;
end;
$$;
