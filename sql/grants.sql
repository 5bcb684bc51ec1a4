-- noqa: disable=LT02
/* To the four roles, besides what grants to roles of your own say. */
revoke all on all tables in schema rota
from rota_producer, rota_worker, rota_operator, rota_observer;
revoke all on all sequences in schema rota
from rota_producer, rota_worker, rota_operator, rota_observer;
revoke all on all functions in schema rota
from rota_producer, rota_worker, rota_operator, rota_observer;

grant usage on schema rota to rota_producer, rota_worker, rota_operator, rota_observer;
grant execute on function rota.version()
to rota_producer, rota_worker, rota_operator, rota_observer;

grant execute on function
    rota.enqueue,
    rota.enqueue_jobs
to rota_producer, rota_operator;

grant execute on function
    rota.register_worker,
    rota.claim_jobs,
    rota.heartbeat,
    rota.complete_job,
    rota.complete_jobs,
    rota.fail_job,
    rota.fail_jobs,
    rota.release_job,
    rota.release_jobs,
    rota.release_stray_jobs,
    rota.snooze_job,
    rota.snooze_jobs,
    rota.deregister_worker,
    rota.exchange,
    rota.mark_idle,
    rota.mark_busy,
    rota.enqueuers_in_flight
to rota_worker;

grant execute on function
    rota.maintain,
    rota.promote_jobs,
    rota.reap_workers,
    rota.time_out_jobs,
    rota.ensure_partitions,
    rota.purge_archive,
    rota.purge_keys,
    rota.purge_workers,
    rota.fold_tally,
    rota.materialize_schedules,
    rota.create_schedule
to rota_worker, rota_operator;

grant execute on function
    rota.alter_schedule,
    rota.pause_schedule,
    rota.resume_schedule,
    rota.drop_schedule,
    rota.run_schedule_now
to rota_operator;

grant execute on function
    rota.create_queue,
    rota.alter_queue,
    rota.pause_queue,
    rota.resume_queue,
    rota.create_retry_policy,
    rota.alter_retry_policy,
    rota.alter_settings,
    rota.cancel_job,
    rota.cancel_jobs,
    rota.replay_dead,
    rota.purge_dead
to rota_operator;

grant execute on function
    rota.cron_next,
    rota.cron_describe,
    rota.explain_schedule
to rota_producer, rota_worker, rota_operator, rota_observer;

grant select on
    rota.jobs,
    rota.executions,
    rota.queue_stats,
    rota.worker_status,
    rota.dead_letters,
    rota.queue_settings,
    rota.retry_policies,
    rota.settings,
    rota.schedule_status
to rota_operator, rota_observer;
