/* Workers say which version they run. */
alter table rota.worker add column version text;
