/* What a fresh install starts with. */
insert into rota.setting default values;
select rota.create_retry_policy('default');
select rota.create_queue('default');
