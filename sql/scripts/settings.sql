set local client_min_messages = warning;
set local search_path = pg_catalog, pg_temp;

/* Of two at once the second waits here, and then finds what the first one did. */
select pg_advisory_xact_lock(hashtext('rota.install'));
