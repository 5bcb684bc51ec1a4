/* What all jobs of one call share. */
create or replace function rota._check_options(
    p_on_duplicate text,
    p_key_ttl interval,
    p_max_attempts integer,
    p_timeout interval
)
returns void
language plpgsql
stable
parallel safe
as $$
begin
    if p_on_duplicate is null
        or p_on_duplicate not in ('keep', 'replace', 'reject')
    then
        perform rota._raise_invalid('on_duplicate', 'must be keep, replace or reject');
    end if;
    perform rota._check_duration('key_ttl', p_key_ttl, interval '0');
    perform rota._check_duration('timeout', p_timeout, interval '1 millisecond');
    if p_max_attempts is not null then
        perform rota._check_positive('max_attempts', p_max_attempts);
    end if;
end;
$$;
