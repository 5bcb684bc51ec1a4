create or replace function rota._schedule_payload(
    p_schedule rota.schedule,
    p_due_at timestamptz
)
returns jsonb
language plpgsql
stable
parallel safe
as $$
/* The payload of one fire: an object learns which fire of which schedule it is. */
begin
    if jsonb_typeof(p_schedule.payload) <> 'object' then
        return p_schedule.payload;
    end if;
    return p_schedule.payload || jsonb_build_object('schedule', jsonb_build_object(
        'name', p_schedule.name,
        'due_at', to_char(p_due_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')
    ));
end;
$$;
