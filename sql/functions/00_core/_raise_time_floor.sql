/* p_first: the first instant just seen from the old floor on, null if there is none. */
create or replace function rota._raise_time_floor(p_name text, p_first timestamptz)
returns void
language plpgsql
volatile
parallel unsafe
as $$
declare
    v_setting constant text := 'rota.' || p_name || '_floor';
    v_known constant bigint[] := coalesce(
        nullif(current_setting(v_setting, true), ''), '{0,0}'
    )::bigint[];
    v_settled_at constant bigint := (rota._known_positions()).settled_at;
    v_now constant bigint := rota._microseconds(rota._now());
begin
    if v_settled_at > 0 then
        perform set_config(v_setting, array[
            least(rota._microseconds(p_first), v_settled_at),
            case when v_known[2] < v_now then v_now + 60000000 else v_known[2] end
        ]::text, false);
    end if;
end;
$$;
