/* Functions that enqueue: gone, or with another signature. */
drop function rota._wake(rota.queue);
drop function rota._enter_line();
drop function rota._is_plain_job(
    text, jsonb, integer, timestamptz, interval, text, integer
);
drop function rota._given_jobs(
    rota.queue, boolean, text[], jsonb[], integer[], timestamptz[], interval[], text[],
    interval, integer, integer, interval
);
drop function rota._enqueue_keyed_jobs(
    rota.queue, text[], jsonb[], integer[], timestamptz[], interval[], text[], text,
    interval, integer, integer, interval
);
