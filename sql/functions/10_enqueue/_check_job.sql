/* p_where leads each parameter's name in a message: '' for one job, 'jobs[57].' in a
batch. */
create or replace function rota._check_job(
    p_where text,
    p_kind text,
    p_payload jsonb,
    p_priority integer,
    p_run_at timestamptz,
    p_delay interval,
    p_key text,
    p_max_payload_bytes integer
)
returns void
language plpgsql
stable
parallel safe
as $$
begin
    perform rota._check_text(p_where || 'kind', p_kind, 200);
    if p_payload is null then
        perform rota._raise_invalid(p_where || 'payload', 'must not be null');
    elsif octet_length(p_payload::text) > p_max_payload_bytes then
        perform rota._raise_too_large(
            p_where || 'payload',
            format('is %s bytes of JSON text', octet_length(p_payload::text)),
            format(
                'The queue takes %s bytes: rota.alter_queue, max_payload_bytes.',
                p_max_payload_bytes
            )
        );
    end if;
    if p_priority is null or p_priority not between -32768 and 32767 then
        perform rota._raise_invalid(
            p_where || 'priority', 'must be between -32768 and 32767'
        );
    end if;
    if p_run_at is not null and p_delay is not null then
        perform rota._raise_invalid(p_where || 'delay', 'must be null beside run_at');
    end if;
    if not isfinite(p_run_at) or p_run_at > timestamptz '9999-12-31 00:00:00+00' then
        perform rota._raise_invalid(
            p_where || 'run_at', 'must be an instant before the year 9999'
        );
    end if;
    perform rota._check_duration(p_where || 'delay', p_delay, interval '0');
    if p_key is not null then
        perform rota._check_text(p_where || 'idempotency_key', p_key, 500);
    end if;
end;
$$;
