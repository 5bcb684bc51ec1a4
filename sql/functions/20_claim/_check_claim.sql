/* Whether these queues may be claimed from, and how many jobs at most. */
create or replace function rota._check_claim(p_queues text[], p_max_jobs integer)
returns integer
language plpgsql
stable
parallel safe
as $$
begin
    if p_max_jobs is null or p_max_jobs < 0 then
        perform rota._raise_invalid('max_jobs', 'must be zero or more');
    end if;
    perform rota._check_queues(p_queues);
    return least(p_max_jobs, 10000);
end;
$$;
