/* A dump has the partitions that came later, but not the table they belong to, whose
indexes they would then have twice. So each partition has its own. */
alter table rota.archive drop constraint archive_pkey;
drop index rota.archive_finished_idx;
alter table rota.archive_default
add constraint archive_default_pkey primary key (id, finished_at);
create index archive_default_finished_at_idx
on rota.archive_default using brin (finished_at);

alter table rota.attempt drop constraint attempt_pkey;
alter table rota.attempt_default
add constraint attempt_default_pkey primary key (job_id, execution, finished_at);
