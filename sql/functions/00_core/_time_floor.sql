/* The same for what is found by time (p_name says what): no row with an
earlier instant exists or can appear, for all who write such rows read the clock after
they have a transaction id. Since clocks may be set back, it is forgotten every
minute. */
create or replace function rota._time_floor(p_name text)
returns timestamptz
language plpgsql
volatile
parallel unsafe
as $$
declare
    v_known constant bigint[] := coalesce(
        nullif(current_setting('rota.' || p_name || '_floor', true), ''), '{0,0}'
    )::bigint[];
begin
    if v_known[2] < rota._microseconds(rota._now()) then
        return timestamptz '-infinity';
    end if;
    return to_timestamp(v_known[1] / 1000000.0);
end;
$$;
