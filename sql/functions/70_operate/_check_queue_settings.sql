/* null is not given. */
create or replace function rota._check_queue_settings(
    p_max_attempts integer,
    p_timeout interval,
    p_max_lost integer,
    p_max_payload_bytes integer,
    p_retention interval
)
returns void
language plpgsql
stable
parallel safe
as $$
begin
    if p_max_attempts <= 0 then
        perform rota._raise_invalid('max_attempts', 'must be positive');
    elsif p_max_lost <= 0 then
        perform rota._raise_invalid('max_lost', 'must be positive');
    elsif p_max_payload_bytes not between 1 and 200000000 then
        perform rota._raise_invalid(
            'max_payload_bytes', 'must be between 1 and 200000000'
        );
    end if;
    perform rota._check_duration('timeout', p_timeout, interval '1 millisecond');
    perform rota._check_duration('retention', p_retention, interval '0');
end;
$$;
