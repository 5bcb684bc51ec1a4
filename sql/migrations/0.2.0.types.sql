/* A claim locks jobs of several lanes at once. */
create type rota._locked_jobs as (
    jobs tid [],
    lane_ids integer [],
    queues text [],
    priorities smallint [],
    first_position bigint
);
