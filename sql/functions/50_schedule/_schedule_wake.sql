create or replace function rota._schedule_wake(
    p_schedule rota.schedule
)
returns void
language plpgsql
volatile
parallel unsafe
as $$
/* A runner asleep does not know of a fire that has just come nearer. */
begin
    if p_schedule.next_fires[1] <= rota._now() + rota._longest_sleep() then
        perform rota._enter_line();
        perform rota._wake_queues(array[p_schedule.queue_id]);
    end if;
end;
$$;
