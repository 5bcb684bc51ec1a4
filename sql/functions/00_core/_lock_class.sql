/* Advisory locks are shared by everything in the database: rota's are of the class
"rota" in ASCII. Object 0 says "some runner is idle", and beside it -id "an idle runner
of queue id" or 2147483647 "an idle runner of many queues"; 1 "somebody takes
positions", 2 and up the single-handed steps of maintain(). */
create or replace function rota._lock_class()
returns integer
language sql
immutable
parallel safe
as $$
    select 1919906913
$$;
