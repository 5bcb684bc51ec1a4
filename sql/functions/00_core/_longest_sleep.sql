/* A runner looks by itself at least this often. What falls due later wakes nobody; what
falls due sooner does, since a sleeper may not expect anything so soon. */
create or replace function rota._longest_sleep()
returns interval
language sql
immutable
parallel safe
as $$
    select interval '1 minute'
$$;
