/* What the patch makes of these dead jobs must be what their queues would take. */
create or replace function rota._check_patch(p_ids bigint[], p_patch jsonb)
returns void
language plpgsql
stable
parallel safe
as $$
declare
    v_dead record;
begin
    for v_dead in
        select
            jsonb_typeof(d.payload) as payload_type,
            octet_length((d.payload || p_patch)::text) as payload_bytes,
            q.max_payload_bytes
        from rota.dead_letter as d
        inner join rota.lane as l on l.id = d.lane_id
        inner join rota.queue as q on q.id = l.queue_id
        where d.id = any (p_ids)
    loop
        if v_dead.payload_type <> 'object' then
            perform rota._raise_invalid(
                'payload_patch', 'needs payloads that are objects'
            );
        elsif v_dead.payload_bytes > v_dead.max_payload_bytes then
            perform rota._raise_too_large(
                'payload',
                format('would be %s bytes of JSON text', v_dead.payload_bytes),
                format('The queue takes %s bytes.', v_dead.max_payload_bytes)
            );
        end if;
    end loop;
end;
$$;
