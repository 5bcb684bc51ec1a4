/* What a fresh install starts with. */
insert into rota.setting default values;
select rota.create_retry_policy('default');
select rota.create_queue('default');

/* Positions begin at the clock's microseconds, and so after all that were drawn here
before rota was removed and installed again: sessions that are still open, such as a
pooler's, go on with the floors that they know from then. */
select setval(
    'rota.position_seq', (extract(epoch from clock_timestamp()) * 1000000)::bigint
);
