/* Not in the script of an extension: what that makes belongs to the extension, and
retention could not drop it. */
select rota.ensure_partitions();
