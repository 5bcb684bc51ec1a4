create or replace function rota._raise_no_queue(p_queue text)
returns void
language plpgsql
stable
parallel safe
as $$
begin
    if p_queue is null then
        perform rota._raise_invalid('queue', 'must not be null');
    end if;
    raise exception using
        errcode = 'RT003',
        message = 'no such queue',
        detail = pg_catalog.format('queue %s', pg_catalog.quote_literal(p_queue)),
        hint = 'Create it with rota.create_queue.';
end;
$$;
