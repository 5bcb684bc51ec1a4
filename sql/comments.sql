comment on schema rota is
'A job queue: jobs are enqueued, claimed, run and finished by calling its functions,
and looked at through its views.';

comment on table rota.setting is
'What holds for the whole installation: one row, changed by alter_settings.';
comment on column rota.setting.is_only is
'True in the only row there can be.';
comment on column rota.setting.retention is
'How long completed and cancelled jobs and the record of attempts are kept, at least a
day.';
comment on column rota.setting.worker_retention is
'How long the row of a worker is kept after it ended.';
comment on column rota.setting.timeout_grace is
'How far past its deadline a job may run before maintenance takes it from its worker.';

comment on table rota.retry_policy is
'How long a failed job waits before its next attempt.';
comment on column rota.retry_policy.id is
'Number of the policy.';
comment on column rota.retry_policy.name is
'Name by which queues and jobs choose the policy.';
comment on column rota.retry_policy.strategy is
'fixed, linear, exponential or list.';
comment on column rota.retry_policy.base is
'Delay after the first attempt; null for a list.';
comment on column rota.retry_policy.factor is
'Growth: multiplies the delay of each further attempt (exponential), or is the share of
base added to it (linear). Null for fixed and list.';
comment on column rota.retry_policy.cap is
'No delay is longer.';
comment on column rota.retry_policy.delays is
'Delay after the first, second, ... attempt, the last one repeating; null unless the
strategy is list.';
comment on column rota.retry_policy.jitter is
'none; full: any part of the delay; fraction: the delay less up to jitter_fraction of
it.';
comment on column rota.retry_policy.jitter_fraction is
'From 0 to 1: how much of the delay chance may take off when jitter is fraction.';

comment on table rota.queue is
'A named stream of jobs and its policy.';
comment on column rota.queue.id is
'Number of the queue.';
comment on column rota.queue.name is
'Name by which producers and workers choose the queue.';
comment on column rota.queue.paused_at is
'Since when nothing is claimed from the queue; null while it is not paused.';
comment on column rota.queue.max_attempts is
'Attempts a job has unless it says otherwise.';
comment on column rota.queue.retry_policy_id is
'Policy of jobs that name none.';
comment on column rota.queue.timeout is
'How long one execution may run unless the job says otherwise; null: for ever.';
comment on column rota.queue.max_lost is
'A job that lost its worker this many times is dead.';
comment on column rota.queue.max_payload_bytes is
'Longest payload accepted, in bytes of its JSON text.';
comment on column rota.queue.retention is
'How long ended jobs are kept when that is shorter than setting.retention; zero: they
are only counted; null: as long as everyone''s.';
comment on column rota.queue.is_notifying is
'Whether sleeping workers are woken by NOTIFY; otherwise they find jobs by polling.';
comment on column rota.queue.created_at is
'When the queue was created.';
comment on column rota.queue.purged_before is
'Its archived jobs that ended before this instant are purged already.';

comment on table rota.lane is
'One (queue, priority) pair, within which jobs are claimed in order. Appears when first
used.';
comment on column rota.lane.id is
'Number of the lane; negated it stands for the lane''s front, which is claimed first.';
comment on column rota.lane.queue_id is
'Queue of the lane.';
comment on column rota.lane.priority is
'Higher runs first.';
comment on column rota.lane.floor is
'No queued job of the lane has a smaller position; new sessions start to look here.';
comment on column rota.lane.front_floor is
'The same for the lane''s front.';

comment on table rota.job is
'Live jobs: scheduled, queued and running. Jobs that end move to archive or
dead_letter.';
comment on column rota.job.id is
'Number of the job, for life.';
comment on column rota.job.position is
'Order of readiness in the lane, smaller first; null while scheduled.';
comment on column rota.job.worker_id is
'Worker that runs the job; null unless it is running.';
comment on column rota.job.run_at is
'Not claimed before this instant.';
comment on column rota.job.created_at is
'When it was enqueued.';
comment on column rota.job.claimed_at is
'When the execution now running began; null unless running.';
comment on column rota.job.deadline_at is
'When the execution now running has to be over; null without a timeout, and unless
running.';
comment on column rota.job.cancel_requested_at is
'When cancelling was asked for while it ran; null if it was not.';
comment on column rota.job.timeout is
'How long one execution may run; null: for ever.';
comment on column rota.job.key_ttl is
'How long the idempotency key stays taken after the job ended; null: not at all.';
comment on column rota.job.lane_id is
'Lane of the job; negative in the lane''s front, for jobs that were handed back unrun.';
comment on column rota.job.attempt is
'Attempts charged so far, the one now running among them.';
comment on column rota.job.max_attempts is
'The job is dead when this many attempts failed.';
comment on column rota.job.execution is
'How often the job was handed out, charged or not. With id the fencing token of an
execution.';
comment on column rota.job.lost_count is
'How often its worker was lost while it ran.';
comment on column rota.job.retry_policy_id is
'Policy the job named; null: the queue''s.';
comment on column rota.job.state is
'scheduled (run_at lies ahead, or the job is due and not promoted yet), queued or
running.';
comment on column rota.job.kind is
'Which handler runs the job.';
comment on column rota.job.idempotency_key is
'Key under which it was enqueued; null: none.';
comment on column rota.job.cancel_reason is
'Why cancelling was asked for; null if it was not, or without a reason.';
comment on column rota.job.payload is
'Argument of the handler.';

comment on table rota.attempt is
'Executions that ended without finishing their job; partitioned by day (UTC) of
finished_at.';
comment on column rota.attempt.job_id is
'Job that was run; it may be gone.';
comment on column rota.attempt.worker_id is
'Worker that ran it; its row may be gone.';
comment on column rota.attempt.started_at is
'When the execution was claimed.';
comment on column rota.attempt.finished_at is
'When its end was recorded.';
comment on column rota.attempt.execution is
'Which hand-out of the job this was.';
comment on column rota.attempt.attempt is
'Which attempt this was; the same number comes again when it was not charged.';
comment on column rota.attempt.outcome is
'failed and timed_out are charged to the job; lost, released and snoozed are
not. cancelled: failed or timed out after cancelling was asked for.';
comment on column rota.attempt.error is
'What went wrong, at most 20000 characters; null if nothing did.';

comment on table rota.attempt_default is
'Attempts of days for which maintenance made no partition in time.';

comment on table rota.archive is
'Completed and cancelled jobs with the facts of their last execution; partitioned by
day (UTC) of finished_at.';
comment on column rota.archive.id is
'Number of the job.';
comment on column rota.archive.worker_id is
'Worker of the last execution; null for a job cancelled while it waited.';
comment on column rota.archive.run_at is
'Instant before which it was not to run.';
comment on column rota.archive.created_at is
'When it was enqueued.';
comment on column rota.archive.claimed_at is
'When the last execution began; null for a job cancelled while it waited.';
comment on column rota.archive.finished_at is
'When it was completed or cancelled.';
comment on column rota.archive.lane_id is
'Lane of the job, always positive.';
comment on column rota.archive.attempt is
'Attempts charged when it ended.';
comment on column rota.archive.max_attempts is
'Attempts it had.';
comment on column rota.archive.execution is
'How often it was handed out.';
comment on column rota.archive.lost_count is
'How often its worker was lost.';
comment on column rota.archive.state is
'completed or cancelled.';
comment on column rota.archive.kind is
'Which handler ran it.';
comment on column rota.archive.idempotency_key is
'Key under which it was enqueued; null: none.';
comment on column rota.archive.reason is
'Why it was cancelled; null if it was not, or without a reason.';
comment on column rota.archive.payload is
'Argument of the handler.';
comment on column rota.archive.result is
'What the handler returned; null: nothing.';

comment on table rota.archive_default is
'Jobs that ended on days for which maintenance made no partition in time.';

comment on table rota.dead_letter is
'Jobs that used up their attempts, with all that is needed to replay them. They stay
until replayed or purged.';
comment on column rota.dead_letter.id is
'Number of the job, kept when it is replayed.';
comment on column rota.dead_letter.worker_id is
'Worker of the last execution.';
comment on column rota.dead_letter.run_at is
'Instant before which the last execution was not to run.';
comment on column rota.dead_letter.created_at is
'When it was enqueued.';
comment on column rota.dead_letter.claimed_at is
'When the last execution began.';
comment on column rota.dead_letter.died_at is
'When it was given up.';
comment on column rota.dead_letter.timeout is
'How long one execution may run; null: for ever.';
comment on column rota.dead_letter.key_ttl is
'How long its idempotency key stays taken after an end; null: not at all.';
comment on column rota.dead_letter.lane_id is
'Lane of the job, always positive.';
comment on column rota.dead_letter.attempt is
'Attempts charged when it died.';
comment on column rota.dead_letter.max_attempts is
'Attempts it had, and has again when replayed.';
comment on column rota.dead_letter.execution is
'How often it was handed out; replaying counts on from here.';
comment on column rota.dead_letter.lost_count is
'How often its worker was lost.';
comment on column rota.dead_letter.retry_policy_id is
'Policy the job named; null: the queue''s.';
comment on column rota.dead_letter.kind is
'Which handler runs it.';
comment on column rota.dead_letter.idempotency_key is
'Key under which it was enqueued; null: none.';
comment on column rota.dead_letter.reason is
'attempts_exhausted, not_retryable (its handler gave it up) or worker_lost (max_lost
workers were lost while running it).';
comment on column rota.dead_letter.error is
'Error of the last execution; null: none was given.';
comment on column rota.dead_letter.payload is
'Argument of the handler.';

comment on table rota.idempotency_key is
'Which job a key stands for: one for each queue and key.';
comment on column rota.idempotency_key.queue_id is
'Queue in which the key is taken.';
comment on column rota.idempotency_key.key is
'The key.';
comment on column rota.idempotency_key.job_id is
'Job that has the key, or had it when it ended.';
comment on column rota.idempotency_key.expires_at is
'From when on the key is free; null while its job lives.';

comment on table rota.worker is
'One incarnation of a process that claims jobs, and the lease of everything it holds. A
worker that was lost or has ended never comes back: the process registers anew.';
comment on column rota.worker.id is
'Number of the worker.';
comment on column rota.worker.registered_at is
'When it registered.';
comment on column rota.worker.heartbeat_at is
'When it renewed its lease last.';
comment on column rota.worker.lease_expires_at is
'When it is taken for lost unless it renews the lease before.';
comment on column rota.worker.lost_at is
'When it was found silent past its lease; null if it was not.';
comment on column rota.worker.ended_at is
'When it deregistered, or when the last job of a lost worker was taken back; null
before.';
comment on column rota.worker.lease is
'How long it may stay silent.';
comment on column rota.worker.name is
'Name it gave itself, for people; not unique.';
comment on column rota.worker.version is
'Version of rota it runs; null when it did not say.';

comment on table rota.tally is
'How many jobs ended in queues that keep none of them (retention zero). Rows of a queue
add up.';
comment on column rota.tally.queue_id is
'Queue that is counted.';
comment on column rota.tally.completed_count is
'Jobs completed.';
comment on column rota.tally.cancelled_count is
'Jobs cancelled.';

comment on type rota.enqueued_job is
'What became of one job of enqueue_jobs.';
comment on column rota.enqueued_job.id is
'Job that was stored, or that has the idempotency key.';
comment on column rota.enqueued_job.is_new is
'False when the idempotency key belonged to a job already.';

comment on type rota.job_ref is
'One execution of a job: the fencing token that settles it.';
comment on column rota.job_ref.id is
'Number of the job.';
comment on column rota.job_ref.execution is
'Which hand-out of the job.';

comment on type rota.settled_job is
'What became of a job.';
comment on column rota.settled_job.id is
'Number of the job.';
comment on column rota.settled_job.state is
'State the job is in now; running from cancel_jobs: cancelling was asked for.';
comment on column rota.settled_job.run_at is
'When a scheduled or queued job may run; null in any other state.';

comment on type rota.claimed_job is
'A job handed to a worker. (id, execution) is the token that settles this execution.';
comment on column rota.claimed_job.id is
'Number of the job.';
comment on column rota.claimed_job.execution is
'Counts every hand-out of the job.';
comment on column rota.claimed_job.attempt is
'Attempts charged to the job, this one among them.';
comment on column rota.claimed_job.max_attempts is
'Attempts the job has.';
comment on column rota.claimed_job.queue is
'Queue of the job.';
comment on column rota.claimed_job.priority is
'Higher runs first.';
comment on column rota.claimed_job.kind is
'Which handler runs it.';
comment on column rota.claimed_job.payload is
'Argument of the handler.';
comment on column rota.claimed_job.timeout is
'How long this execution may run, counted from the claim; null: for ever.';
comment on column rota.claimed_job.run_at is
'Instant before which it was not to run.';
comment on column rota.claimed_job.created_at is
'When it was enqueued.';

comment on type rota.exchanged is
'One row of the answer of exchange; event says which columns are filled.';
comment on column rota.exchanged.event is
'claimed: a job for this worker, all columns as in claimed_job. refused: the settlement
of (id, execution) came too late and did nothing. cancel: (id, execution) runs here
and is to be cancelled. next: the last row.';
comment on column rota.exchanged.id is
'Number of the job; null in next.';
comment on column rota.exchanged.execution is
'Which hand-out of the job; null in next.';
comment on column rota.exchanged.attempt is
'Attempts charged to the job, this one among them; claimed only.';
comment on column rota.exchanged.max_attempts is
'Attempts the job has; claimed only.';
comment on column rota.exchanged.queue is
'Queue of the job; claimed only.';
comment on column rota.exchanged.priority is
'Higher runs first; claimed only.';
comment on column rota.exchanged.kind is
'Which handler runs it; claimed only.';
comment on column rota.exchanged.payload is
'Argument of the handler; claimed only.';
comment on column rota.exchanged.timeout is
'How long this execution may run; null: for ever. Claimed only.';
comment on column rota.exchanged.run_at is
'Instant before which a claimed job was not to run; in next, when the first scheduled
job of any queue falls due, null if there is none.';
comment on column rota.exchanged.created_at is
'When it was enqueued; claimed only.';

comment on type rota.maintained is
'What one call of maintain did.';
comment on column rota.maintained.promoted_count is
'Jobs that became claimable: fallen due, or new from schedules.';
comment on column rota.maintained.lost_worker_count is
'Workers whose lease ran out.';
comment on column rota.maintained.returned_count is
'Jobs taken back from lost workers, whatever became of them.';
comment on column rota.maintained.timed_out_count is
'Jobs that ran past their deadline and were taken from their worker.';
comment on column rota.maintained.purged_count is
'Archived jobs deleted one by one; days that were dropped whole are not counted.';
comment on column rota.maintained.next_due_at is
'When the first scheduled job falls due, in the past if more are due now; null if none
is scheduled.';

comment on type rota.reaped is
'What one call of reap_workers did.';
comment on column rota.reaped.worker_count is
'Workers whose lease ran out.';
comment on column rota.reaped.job_count is
'Jobs taken back from lost workers, whatever became of them.';

comment on type rota._ready_lane is
'Internal: a lane, and where its first queued job stands.';

comment on type rota._locked_jobs is
'Internal: queued jobs that a claim has locked.';

comment on type rota._position_state is
'Internal: what a session knows about the positions handed out.';

comment on type rota._ended_execution is
'Internal: an execution that ends without finishing its job, and what becomes of the
job.';

comment on type rota._returned_execution is
'Internal: one element of the JSON given to exchange.';

comment on function rota.version is
'Version of the installed schema.';

comment on function rota.enqueue is
'Store a job in the caller''s transaction and return its id.
kind: which handler runs it, at most 200 characters.
payload: any JSON value up to the queue''s max_payload_bytes of text.
priority: from -32768 to 32767, higher runs first.
run_at, delay: not before that instant, or that long after now; at most one of the
two. An instant in the past: at once.
idempotency_key: at most one job of the queue has it while it lives, and for key_ttl
after its end (null: not at all). At most 500 characters; null: no key. Waits for
another transaction that is enqueueing the same key.
on_duplicate: when a job has the key, keep returns its id and changes nothing; replace
overwrites that job, all but its id and creation, if it still waits; reject raises
RT009.
max_attempts, retry_policy, timeout: null takes the queue''s. timeout is how long one
execution may run.
Errors: RT003 no such queue; RT005 the job to replace runs or has ended; RT008 kind,
payload or key over its limit; RT009 key in use; 22023 invalid argument; 42704 no such
retry policy.';

comment on function rota.enqueue_jobs is
'Store any number of jobs in one statement: all of them or, on an error, none.
kinds: one for each payload, or a single one for all.
priorities, run_ats, delays, idempotency_keys: null, or one for each payload; elements
may be null, which is as in enqueue (a null priority is an error).
The other parameters hold for every job and mean what they mean in enqueue.
Returns id and is_new of each job, in the order given.
Errors: as enqueue; the detail begins with the job''s number, counted from 1, as in
jobs[3].payload, and its field.';

comment on function rota.register_worker is
'Make the calling process a worker and return the worker''s id, with which it claims.
name: for people who look at worker_status, at most 200 characters, not unique.
lease: how long the worker may stay silent before its jobs go to others, from 100 ms
to a day. Renewed by heartbeat and exchange.
version: which version of rota the worker runs, for people who look at worker_status, at
most 100 characters; null: not said.
Errors: RT008 name or version over its limit; 22023 invalid argument.';

comment on function rota.claim_jobs is
'Hand up to max_jobs queued jobs to one worker: highest priority first and, within one
queue and priority, those handed back before, then the longest ready. No other worker
is given the same jobs, and the call does not wait for others that claim.
worker: an id from register_worker. Claiming does not renew its lease.
queues: in any order; paused ones yield nothing.
max_jobs: 0 hands out nothing, more than 10000 counts as 10000.
Returns a row for each job, none when no job is ready. An attempt is charged, and
refunded if the job is released, snoozed or lost.
Errors: RT003 no such queue; RT007 worker lost or unknown; 22023 invalid argument.';

comment on function rota.mark_idle is
'Say, for this session and until mark_busy or its end, that a worker of these queues
sleeps: then enqueueing there sends a notification on the channel rota with the
queue''s name. Without a sleeper nobody is notified.
queues: any number. Each call needs a mark_busy of its own, with the same queues. Not
for sessions behind a pooler in transaction mode.
An enqueue that began before this call may have looked before it: look for jobs once
more, until enqueuers_in_flight names nobody who was there.
Errors: RT003 no such queue; 22023 invalid argument.';

comment on function rota.mark_busy is
'Take back one mark_idle of this session.
queues: those of the mark_idle.
Errors: RT003 no such queue; 22023 invalid argument.';

comment on function rota.enqueuers_in_flight is
'Name the transactions that are making jobs ready at this moment.
Returns their virtual transaction ids, an empty array if there is none.';

comment on function rota.heartbeat is
'Renew the worker''s lease from now on, and learn which of its jobs are to be
cancelled.
Returns the executions of this worker whose cancelling was asked for, each time until
they end.
Errors: RT007 worker lost or unknown.';

comment on function rota.complete_jobs is
'Finish executions with success: their jobs move to the archive, or are only counted if
the queue keeps none.
ids, executions: the tokens from the claim, pairwise.
results: what the handlers returned, one for each id; null: nothing.
Returns the ids that are completed by these tokens, in no particular order. A missing
id was refused, for its lease was lost or the job has ended otherwise. A token that is
sent again is accepted again while the archive holds its job.
Errors: 22023 invalid argument.';

comment on function rota.complete_job is
'Finish one execution with success, or raise an error and change nothing. Called in the
transaction that writes the job''s effects, it makes effects and completion commit
together.
result: what the handler returned; null: nothing.
Errors: RT001 lease lost; RT002 no such job; RT005 the job has ended otherwise, or
was never handed out.';

comment on function rota.fail_jobs is
'End executions with failure: their jobs are tried again later or, without attempts
left, dead.
ids, executions: the tokens from the claim, pairwise.
errors: what went wrong, one for each id, elements may be null; the first 20000
characters are kept.
retryable: false: dead at once. Null, also as an element: true.
delays: time until the next attempt. Null, also as an element: the retry policy
decides.
Returns a row for each accepted token: scheduled or queued (run_at says for when),
dead, or cancelled if cancelling was asked for. A missing id was refused. A token that
is sent again is answered with the state its job is in now.
Errors: 22023 invalid argument.';

comment on function rota.fail_job is
'End one execution with failure, or raise an error and change nothing; the parameters
mean what they mean in fail_jobs.
Returns the state the job is in now.
Errors: RT001 lease lost; RT002 no such job; RT005 the job has ended, or was never
handed out; 22023 invalid argument.';

comment on function rota.release_jobs is
'Hand jobs back unrun: they are queued again before the others of their priority, and
the attempt is refunded.
ids, executions: the tokens from the claim, pairwise.
Returns a row for each accepted token: queued, or cancelled if cancelling was asked
for. A missing id was refused.
Errors: 22023 invalid argument.';

comment on function rota.release_job is
'Hand one job back unrun, as release_jobs does, or raise an error and change nothing.
Errors: RT001 lease lost; RT002 no such job; RT005 the job has ended, or was never
handed out.';

comment on function rota.snooze_jobs is
'End executions whose jobs are to run again after a delay; the attempt is refunded.
ids, executions: the tokens from the claim, pairwise.
delays: how long from now, one for each id, not null; zero queues the job at once.
Returns a row for each accepted token: scheduled or queued (run_at says for when), or
cancelled if cancelling was asked for. A missing id was refused.
Errors: 22023 invalid argument.';

comment on function rota.snooze_job is
'Run one job again after a delay, as snooze_jobs does, or raise an error and change
nothing.
Errors: RT001 lease lost; RT002 no such job; RT005 the job has ended, or was never
handed out; 22023 invalid argument.';

comment on function rota.cancel_jobs is
'Cancel jobs that wait, and ask the workers of those that run to stop them.
ids: unknown, dead and ended jobs among them are passed over.
reason: at most 2000 characters are kept; null: none. The first one given stands.
Returns a row for each live job: cancelled, or running if its worker was asked. A
running job may still complete; if its execution ends in any other way, the job is
cancelled.
Errors: 22023 invalid argument.';

comment on function rota.cancel_job is
'Cancel one job as cancel_jobs does, or raise an error.
Errors: RT002 no such job; RT005 the job is dead or has ended; 22023 id is null.';

comment on function rota.release_stray_jobs is
'Release, uncharged, the running jobs of a worker that it does not know of: those whose
hand-out got lost with the connection. Their worker lives, so no lease would run out.
ids, executions: tokens of the jobs it does know of, pairwise; they are left alone.
Returns a row for each released job: queued, or cancelled if cancelling was asked for.
Errors: RT007 worker lost or unknown; 22023 invalid argument.';

comment on function rota.deregister_worker is
'End a worker and hand back, uncharged, what it still holds.
Returns how many jobs it held; those whose cancelling was asked for are cancelled
instead.
Errors: RT007 worker lost or unknown.';

comment on function rota.exchange is
'Settle executions, renew the lease and claim jobs in one round trip and one
transaction: the call of a worker''s loop.
queues, max_jobs: as in claim_jobs; 0 claims nothing.
completed_ids, completed_executions, completed_results: as in complete_jobs; null
ids: none.
returned: executions that ended without finishing their job, a JSON array of {"id",
"execution", "outcome", "error", "retryable", "delay"}. outcome is failed, timed_out,
released or snoozed; error is text or null; retryable is true by default; delay is in
seconds, null or absent leaves it to the retry policy, snoozed needs one. Null: none.
Renews the lease only if a sixth of it has passed since it was renewed last.
Returns rows in this order: refused, cancel, claimed, and one next.
Errors: RT003 no such queue; RT007 worker lost or unknown; 22023 invalid argument; 55P03
somebody else holds a lock on one of the jobs for longer than a quarter of a second.
After an error nothing was settled: a worker that is lost registers anew and sends its
settlements again; one that was held up sends them apart, later, and goes on.';

comment on function rota.maintain is
'Do what is due anyhow: promote, take back the jobs of lost workers, end overdue jobs,
purge and make partitions. Workers call it; any number of sessions may, at any time.
max_jobs: most jobs handled by each step; call again when that many were.
Errors: 22023 max_jobs is not positive.';

comment on function rota.promote_jobs is
'Queue the scheduled jobs that are due, at most max_jobs of them, the longest due
first.
Returns how many were queued.
Errors: 22023 max_jobs is not positive.';

comment on function rota.reap_workers is
'Mark workers whose lease ran out as lost for ever and take their jobs back: at most
max_jobs of them, each to the front of its priority with the attempt refunded, or dead
after the queue''s max_lost losses, or cancelled if that was asked for.
Errors: 22023 max_jobs is not positive.';

comment on function rota.time_out_jobs is
'End executions that ran past their deadline by more than the setting timeout_grace, at
most max_jobs of them, as failed attempts: for workers that hang while their lease is
renewed.
Returns how many were ended.
Errors: 22023 max_jobs is not positive.';

comment on function rota.ensure_partitions is
'Make the day partitions for today and the next three days (UTC), and drop those older
than the setting retention.
Returns how many were dropped; 0 also while another session does this. A table that is
locked for long is left for the next call.';

comment on function rota.purge_archive is
'Delete ended jobs that their queue keeps for a shorter time than the setting
retention, and rows of default partitions past that setting. A row may stay up to five
minutes longer.
max_jobs: most rows deleted for each queue.
Returns how many jobs were deleted; 0 also while another session does this.
Errors: 22023 max_jobs is not positive.';

comment on function rota.purge_keys is
'Delete idempotency keys that have expired, at most max_keys of them. They are free
before that, too.
Returns how many were deleted.
Errors: 22023 max_keys is not positive.';

comment on function rota.purge_workers is
'Delete the rows of workers that ended longer ago than the setting worker_retention.
Returns how many were deleted.';

comment on function rota.fold_tally is
'Add up the rows of tally, so that one is left for each queue.
Returns how many queues had rows to add up; 0 also while another session does this.';

comment on function rota.create_queue is
'Create a queue.
queue: at most 100 characters: letters, digits and _ . : / - beginning with a letter
or digit.
max_attempts: attempts of a job that does not say otherwise.
retry_policy: policy of jobs that name none.
timeout: how long one execution may run; null: for ever.
max_lost: a job that lost its worker this many times is dead.
max_payload_bytes: longest payload accepted, in bytes of its JSON text, at most
200000000.
retention: how long ended jobs are kept if that is shorter than the setting
retention; zero: they are only counted; null: as long as everyone''s.
is_notifying: whether new jobs wake sleeping workers; false spares the notifications,
and workers find jobs when they poll.
Errors: RT008 name over its limit; 22023 invalid argument; 42704 no such retry
policy; 42710 the queue already exists.';

comment on function rota.alter_queue is
'Change settings of a queue; parameters mean what they mean in create_queue, null
leaves a setting as it is.
reset: settings to set back to null: timeout, retention.
max_attempts and timeout hold for jobs enqueued from now on; retry_policy, max_lost
and retention also for those that are there.
Errors: RT003 no such queue; 22023 invalid argument; 42704 no such retry policy.';

comment on function rota.pause_queue is
'Let nobody claim from a queue; jobs that run go on, and new ones may be enqueued.
Returns true, or false if it was paused already.
Errors: RT003 no such queue.';

comment on function rota.resume_queue is
'Let jobs of a paused queue be claimed again.
Returns true, or false if it was not paused.
Errors: RT003 no such queue.';

comment on function rota.create_retry_policy is
'Create a retry policy: how long a failed job waits before its next attempt.
strategy: fixed: base each time. linear: base * (1 + factor * (attempt -
1)). exponential: base * factor ^ (attempt - 1). list: delays, one after the other,
the last one again and again.
factor: null: 2 for exponential, 1 for linear. From 0 to 1000, and at least 1 for
exponential.
cap: no delay is longer; at most 365 days. null: an hour, or the longest of a list
that has longer ones.
delays: for the strategy list, null otherwise.
jitter: none; full: anything up to the delay; fraction: the delay less up to
jitter_fraction of it.
jitter_fraction: from 0 to 1.
Errors: RT008 name over its limit; 22023 invalid argument; 42710 the retry policy
already exists.';

comment on function rota.alter_retry_policy is
'Change a retry policy; parameters mean what they mean in create_retry_policy, null
leaves them as they are. Holds for all delays that are chosen from now on.
Errors: 22023 invalid argument; 42704 no such retry policy.';

comment on function rota.alter_settings is
'Change what holds for the whole installation; null leaves a setting as it is.
retention: how long completed and cancelled jobs and the record of attempts are kept,
at least a day.
worker_retention: how long the row of an ended worker is kept, at least an hour.
timeout_grace: how far past its deadline a job may run before maintenance takes it
from its worker.
Errors: 22023 invalid argument.';

comment on function rota.replay_dead is
'Queue dead jobs again under their ids, with all their attempts, no losses and
executions counted on; the longest dead first.
ids, queue, kind, reason: which ones; at least one is given, null filters nothing.
payload_patch: an object whose fields replace those of the payload, which must be an
object too; null: the payload stays.
max_jobs: most jobs replayed.
Returns a row for each replayed job. One whose idempotency key belongs to another job
by now stays dead, and a letter that another session holds is passed over.
Errors: RT003 no such queue; 22023 invalid argument.';

comment on function rota.purge_dead is
'Delete dead jobs for good, the longest dead first.
ids, queue, kind, died_before: which ones; at least one is given, null filters
nothing.
max_jobs: most jobs deleted.
Returns how many were deleted.
Errors: RT003 no such queue; 22023 invalid argument.';

comment on view rota.jobs is
'All jobs there are: live, dead, and completed or cancelled within their retention.';
comment on column rota.jobs.id is
'Number of the job, for life.';
comment on column rota.jobs.state is
'scheduled, queued, running, completed, cancelled or dead.';
comment on column rota.jobs.queue is
'Queue of the job.';
comment on column rota.jobs.priority is
'Higher runs first.';
comment on column rota.jobs.kind is
'Which handler runs it.';
comment on column rota.jobs.payload is
'Argument of the handler.';
comment on column rota.jobs.run_at is
'Instant before which it is, or was, not to run.';
comment on column rota.jobs.created_at is
'When it was enqueued.';
comment on column rota.jobs.claimed_at is
'When the execution now running, or the last one of an ended job, began; null while it
waits, and if cancelled while waiting.';
comment on column rota.jobs.finished_at is
'When it was completed, cancelled or given up; null while it lives.';
comment on column rota.jobs.deadline_at is
'When the execution now running has to be over; null otherwise, and without a timeout.';
comment on column rota.jobs.attempt is
'Attempts charged, the one now running among them.';
comment on column rota.jobs.max_attempts is
'The job is dead when this many attempts failed.';
comment on column rota.jobs.execution is
'How often it was handed out, charged or not.';
comment on column rota.jobs.lost_count is
'How often its worker was lost; replaying starts again at 0.';
comment on column rota.jobs.worker_id is
'Worker that runs it, or ran it last before it ended; null while it waits, and if
cancelled while waiting.';
comment on column rota.jobs.timeout is
'How long one execution may run; null: for ever, or completed or cancelled.';
comment on column rota.jobs.idempotency_key is
'Key under which it was enqueued; null: none.';
comment on column rota.jobs.cancel_requested_at is
'When cancelling was asked for while it runs; null otherwise.';
comment on column rota.jobs.result is
'What the handler of a completed job returned; null: nothing.';
comment on column rota.jobs.reason is
'Why cancelling was asked for, or why a dead job is dead: attempts_exhausted,
not_retryable, worker_lost. Null otherwise.';
comment on column rota.jobs.error is
'Last error of a dead job; null otherwise: see executions.';

comment on view rota.executions is
'Every hand-out of every job, those still running included, for as long as the setting
retention and the queue keep them.';
comment on column rota.executions.job_id is
'Job that was run.';
comment on column rota.executions.execution is
'Which hand-out of the job.';
comment on column rota.executions.attempt is
'Which attempt; the same number comes again when it was not charged.';
comment on column rota.executions.worker_id is
'Worker that ran it.';
comment on column rota.executions.started_at is
'When it was claimed.';
comment on column rota.executions.finished_at is
'When its end was recorded; null while it runs.';
comment on column rota.executions.outcome is
'running, completed, failed, timed_out, lost, released, snoozed or cancelled.';
comment on column rota.executions.error is
'What went wrong; null if nothing did.';

comment on view rota.queue_stats is
'Queues and what is in them now, counted at each look.';
comment on column rota.queue_stats.queue is
'Name of the queue.';
comment on column rota.queue_stats.paused_at is
'Since when nothing is claimed; null while it is not paused.';
comment on column rota.queue_stats.scheduled_count is
'Jobs whose time has not come, or was not noticed yet.';
comment on column rota.queue_stats.queued_count is
'Jobs ready to be claimed.';
comment on column rota.queue_stats.running_count is
'Jobs handed to workers.';
comment on column rota.queue_stats.dead_count is
'Dead jobs.';
comment on column rota.queue_stats.oldest_due_age is
'How long the longest waiting job has been due; zero if none is due.';
comment on column rota.queue_stats.unarchived_completed_count is
'Jobs completed while the queue kept none (retention zero), since it was created.';
comment on column rota.queue_stats.unarchived_cancelled_count is
'Jobs cancelled while the queue kept none (retention zero), since it was created.';

comment on view rota.worker_status is
'Workers and how they are.';
comment on column rota.worker_status.id is
'Number of the worker.';
comment on column rota.worker_status.name is
'Name it gave itself.';
comment on column rota.worker_status.state is
'alive; expired: silent past its lease, and lost at the next maintenance unless it
speaks; lost; ended: deregistered.';
comment on column rota.worker_status.registered_at is
'When it registered.';
comment on column rota.worker_status.heartbeat_at is
'When it renewed its lease last.';
comment on column rota.worker_status.lease_expires_at is
'When it is taken for lost unless it renews the lease before.';
comment on column rota.worker_status.lease is
'How long it may stay silent.';
comment on column rota.worker_status.lost_at is
'When it was found silent past its lease; null if it was not.';
comment on column rota.worker_status.ended_at is
'When it deregistered, or when the last job of a lost worker was taken back; null
before.';
comment on column rota.worker_status.running_count is
'Jobs it holds.';
comment on column rota.worker_status.version is
'Version of rota the worker runs; null when it did not say. Those that differ from
version() are to be restarted after an upgrade.';

comment on view rota.dead_letters is
'Dead jobs: what replay_dead and purge_dead act on.';
comment on column rota.dead_letters.id is
'Number of the job, kept when it is replayed.';
comment on column rota.dead_letters.queue is
'Queue of the job.';
comment on column rota.dead_letters.priority is
'Higher runs first.';
comment on column rota.dead_letters.kind is
'Which handler runs it.';
comment on column rota.dead_letters.payload is
'Argument of the handler.';
comment on column rota.dead_letters.reason is
'attempts_exhausted, not_retryable (its handler gave it up) or worker_lost (max_lost
workers were lost while running it).';
comment on column rota.dead_letters.error is
'Error of the last execution; null: none was given.';
comment on column rota.dead_letters.attempt is
'Attempts charged when it died.';
comment on column rota.dead_letters.max_attempts is
'Attempts it had, and has again when replayed.';
comment on column rota.dead_letters.execution is
'How often it was handed out.';
comment on column rota.dead_letters.lost_count is
'How often its worker was lost.';
comment on column rota.dead_letters.created_at is
'When it was enqueued.';
comment on column rota.dead_letters.died_at is
'When it was given up.';
comment on column rota.dead_letters.idempotency_key is
'Key under which it was enqueued; null: none.';

comment on view rota.queue_settings is
'Queues and their settings: see create_queue.';
comment on column rota.queue_settings.queue is
'Name of the queue.';
comment on column rota.queue_settings.max_attempts is
'Attempts a job has unless it says otherwise.';
comment on column rota.queue_settings.retry_policy is
'Policy of jobs that name none.';
comment on column rota.queue_settings.timeout is
'How long one execution may run unless the job says otherwise; null: for ever.';
comment on column rota.queue_settings.max_lost is
'A job that lost its worker this many times is dead.';
comment on column rota.queue_settings.max_payload_bytes is
'Longest payload accepted, in bytes of its JSON text.';
comment on column rota.queue_settings.retention is
'How long ended jobs are kept when that is shorter than the setting retention;
zero: they are only counted; null: as long as everyone''s.';
comment on column rota.queue_settings.is_notifying is
'Whether sleeping workers are woken by NOTIFY; otherwise they find jobs by polling.';
comment on column rota.queue_settings.created_at is
'When the queue was created.';

comment on view rota.retry_policies is
'Retry policies: see create_retry_policy.';
comment on column rota.retry_policies.policy is
'Name of the policy.';
comment on column rota.retry_policies.strategy is
'fixed, linear, exponential or list.';
comment on column rota.retry_policies.base is
'Delay after the first attempt; null for a list.';
comment on column rota.retry_policies.factor is
'Growth of an exponential or linear delay; null otherwise.';
comment on column rota.retry_policies.cap is
'No delay is longer.';
comment on column rota.retry_policies.delays is
'Delays of a list; null otherwise.';
comment on column rota.retry_policies.jitter is
'none, full or fraction.';
comment on column rota.retry_policies.jitter_fraction is
'How much of the delay chance may take off when jitter is fraction.';

comment on view rota.settings is
'What holds for the whole installation: see alter_settings.';
comment on column rota.settings.retention is
'How long completed and cancelled jobs and the record of attempts are kept.';
comment on column rota.settings.worker_retention is
'How long the row of a worker is kept after it ended.';
comment on column rota.settings.timeout_grace is
'How far past its deadline a job may run before maintenance takes it from its worker.';

comment on type rota.cron_expression is
'A cron expression parsed once: one bitmap per field, read from the left, bit 0 first.';
comment on column rota.cron_expression.minutes is
'Bit n: minute n. Null with every.';
comment on column rota.cron_expression.hours is
'Bit n: hour n. Null with every.';
comment on column rota.cron_expression.days is
'Bit n: day n of the month; bit 0: the last day (L). Null with every.';
comment on column rota.cron_expression.months is
'Bit n: month n; bit 0 is unused. Null with every.';
comment on column rota.cron_expression.weekdays is
'Bit 7k + n, n being the weekday (0 Sunday): k = 0 each week; k = 1 to 5 the k-th such
weekday of the month (n#k); k = 6 the last one (nL). Null with every.';
comment on column rota.cron_expression.needs_both_days is
'True: a day must match both day fields, because one of them starts with a star.';
comment on column rota.cron_expression.is_fixed is
'True: a job at a fixed time, neither minute nor hour field starts with a star. Only
such jobs are made up for after a gap and held back in a repeated hour.';
comment on column rota.cron_expression.every is
'Period of an @every expression, elapsed time; null for the five fields.';

comment on type rota.explained_fire is
'One line of explain_schedule: a fire, or a time the expression names that does not
fire.';
comment on column rota.explained_fire.due_at is
'Instant of the fire; of a skipped one the instant it would have had: the second pass of
a repeated hour, or the end of a gap.';
comment on column rota.explained_fire.local_time is
'Weekday, wall-clock time and UTC offset in the time zone of the schedule; without an
offset when the clocks never show this time.';
comment on column rota.explained_fire.utc_time is
'due_at in UTC.';
comment on column rota.explained_fire.is_skipped is
'True when nothing runs for this line.';
comment on column rota.explained_fire.note is
'Why this line is out of the ordinary; null when it is not.';

comment on function rota.cron_describe(text) is
'Say in one plain English sentence when a cron expression fires.
expression: as for cron_next.
Errors: RT004 invalid expression, the detail names the field.';

comment on function rota.cron_next(text, text, timestamptz, integer, text, text) is
'List the next n instants at which a cron expression fires, strictly after an instant.
expression: five fields (minute, hour, day of month, month, day of week; names, lists,
ranges, steps, L, nL, n#k), a macro (@hourly, @daily, @midnight, @weekly, @monthly,
@yearly, @annually), or @every with a period in weeks to seconds, counted from after. If
both day fields are restricted either may match; if one starts with a star both must.
timezone: an IANA name in any letter case; the fields are read on the clocks of that
zone.
after: null means now. n: 1 to 10000.
gap and repeat say what happens to a job at a fixed time, that is without a star at the
start of its minute and hour fields, when the clocks change by less than three hours.
gap, a time that does not exist: run_after, at the first instant after the gap; or skip.
repeat, a time that comes twice: first, or both. Other jobs follow the clock on the
wall.
Returns instants in ascending order, each once; fewer than n, or none, when the
expression does not fire so often within 400 years. No setting of the session changes
the result.
Errors: RT004 invalid expression or zone, the detail names the field; 22023 other
argument.';

comment on function rota.explain_schedule(
    text, text, timestamptz, timestamptz, text, text
) is
'List when a schedule fires, in local time and UTC, with the reason for each odd line
and the times that are skipped. Fires after since, up to until; at most 1000 lines.
schedule: the name of one, or a cron expression, see cron_next.
timezone, gap, repeat: null means those of the schedule, else UTC, run_after, first.
since: null means now. until: null means 31 days after since.
Returns lines in order of due_at; those with is_skipped run nothing.
Errors: RT004 invalid expression or zone; 22023 other argument.';

comment on table rota.schedule is
'Stored cron rules: each fire becomes one job.';
comment on column rota.schedule.id is
'Number of the schedule.';
comment on column rota.schedule.name is
'Name by which it is created, changed and reconciled.';
comment on column rota.schedule.expression is
'Cron expression: see cron_next.';
comment on column rota.schedule.timezone is
'IANA zone on whose clocks the fields are read.';
comment on column rota.schedule.gap is
'run_after or skip: a fixed time that does not exist.';
comment on column rota.schedule.repeat is
'first or both: a fixed time that comes twice.';
comment on column rota.schedule.queue_id is
'Queue of the jobs.';
comment on column rota.schedule.kind is
'Kind of the jobs.';
comment on column rota.schedule.payload is
'Payload of the jobs; an object gets a key schedule with the name and the due_at of the
fire.';
comment on column rota.schedule.priority is
'Priority of the jobs.';
comment on column rota.schedule.max_attempts is
'Attempts of the jobs; null: what the queue says.';
comment on column rota.schedule.retry_policy_id is
'Retry policy of the jobs; null: that of the queue.';
comment on column rota.schedule.timeout is
'Time limit of the jobs; null: that of the queue.';
comment on column rota.schedule.missed is
'latest, skip or all: fires that nobody could see to in time.';
comment on column rota.schedule.max_missed is
'With all: how many fires are caught up with, the latest ones.';
comment on column rota.schedule.max_age is
'Fires older than this are not caught up with; null: no limit, and a minute with skip.';
comment on column rota.schedule.overlap is
'allow, or skip: no job while the previous one is alive.';
comment on column rota.schedule.created_at is
'When the schedule was created.';
comment on column rota.schedule.anchor_at is
'Whence @every counts: when the expression was set, in whole seconds.';
comment on column rota.schedule.checked_at is
'Every fire up to here has been dealt with.';
comment on column rota.schedule.next_fires is
'The next three fires; empty while paused or broken.';
comment on column rota.schedule.last_due_at is
'Fire that the last job stands for; null before the first.';
comment on column rota.schedule.last_fired_at is
'When the last job was enqueued; null before the first.';
comment on column rota.schedule.last_job_id is
'The last job; null before the first.';
comment on column rota.schedule.missed_count is
'Fires that were missed and not caught up with; at most 1000 are counted at a time.';
comment on column rota.schedule.overlapped_count is
'Fires without a job because the previous one was alive.';
comment on column rota.schedule.paused_at is
'Since when it is paused; null while it is not.';
comment on column rota.schedule.pause_reason is
'Why it is paused, if that was said.';
comment on column rota.schedule.broken_at is
'Since when it is set aside because it failed; null while it works.';
comment on column rota.schedule.error is
'What set it aside.';

comment on view rota.schedule_status is
'Schedules: what they are, when they fire next and how the last job went.';
comment on column rota.schedule_status.schedule is
'Name of the schedule.';
comment on column rota.schedule_status.expression is
'Cron expression: cron_describe says it in English.';
comment on column rota.schedule_status.timezone is
'IANA zone on whose clocks the fields are read.';
comment on column rota.schedule_status.kind is
'Kind of the jobs.';
comment on column rota.schedule_status.queue is
'Queue of the jobs.';
comment on column rota.schedule_status.state is
'active, paused, or broken: set aside because it failed.';
comment on column rota.schedule_status.next_fires is
'The next three fires; empty while paused or broken. explain_schedule lists more.';
comment on column rota.schedule_status.last_due_at is
'Fire that the last job stands for; null before the first.';
comment on column rota.schedule_status.last_fired_at is
'When the last job was enqueued; null before the first.';
comment on column rota.schedule_status.last_job_id is
'The last job; null before the first.';
comment on column rota.schedule_status.last_outcome is
'State of the last job; gone when its record has been purged; null before the first.';
comment on column rota.schedule_status.missed_count is
'Fires that were missed and not caught up with; at most 1000 are counted at a time.';
comment on column rota.schedule_status.overlapped_count is
'Fires without a job because the previous one was alive.';
comment on column rota.schedule_status.paused_at is
'Since when it is paused; null while it is not.';
comment on column rota.schedule_status.pause_reason is
'Why it is paused, if that was said.';
comment on column rota.schedule_status.broken_at is
'Since when it is set aside; resume_schedule or a change starts it again.';
comment on column rota.schedule_status.error is
'What set it aside.';
comment on column rota.schedule_status.gap is
'run_after or skip: a fixed time that does not exist.';
comment on column rota.schedule_status.repeat is
'first or both: a fixed time that comes twice.';
comment on column rota.schedule_status.missed is
'latest, skip or all: fires that nobody could see to in time.';
comment on column rota.schedule_status.max_missed is
'With all: how many fires are caught up with, the latest ones.';
comment on column rota.schedule_status.max_age is
'Fires older than this are not caught up with; null: no limit, and a minute with skip.';
comment on column rota.schedule_status.overlap is
'allow, or skip: no job while the previous one is alive.';
comment on column rota.schedule_status.payload is
'Payload of the jobs, without the key that each fire adds.';
comment on column rota.schedule_status.priority is
'Priority of the jobs.';
comment on column rota.schedule_status.max_attempts is
'Attempts of the jobs; null: what the queue says.';
comment on column rota.schedule_status.retry_policy is
'Retry policy of the jobs; null: that of the queue.';
comment on column rota.schedule_status.timeout is
'Time limit of the jobs; null: that of the queue.';
comment on column rota.schedule_status.created_at is
'When the schedule was created.';

comment on function rota.create_schedule(
    text, text, text, jsonb, text, text, integer, integer, text, interval, text, text,
    text, integer, interval, text, boolean
) is
'Create a schedule: from now on, each time its expression fires, one job is enqueued,
however many sessions call maintain. It never fires for the past.
schedule: its name, at most 200 characters. expression, timezone, gap, repeat: see
cron_next; @every counts from now.
kind, payload, queue, priority, max_attempts, retry_policy, timeout: of the jobs, see
enqueue. A payload that is an object gets the key schedule, an object with the name of
the schedule and due_at, the instant of the fire in UTC; run_at is the same instant.
missed: what becomes of fires that were due while nothing called maintain. latest: one
job, for the latest of them, however late. skip: one job for the latest, if it is at
most a minute late. all: a job for each, oldest first, at most the latest max_missed
(1 to 1000) of them. max_age: fires older than this are passed over; null means no
limit, and a minute with skip.
overlap: allow; or skip, no job while the previous one is scheduled, queued or running.
replace: true gives a schedule of this name this definition; a pause stays, and it
starts afresh from now only if its expression, timezone, gap or repeat changed.
Returns created, unchanged if a schedule of this name had this definition, or changed.
Errors: RT003 no such queue; RT004 invalid expression or zone, the detail names the
field; RT008 payload, name or kind too large; 22023 other argument; 42704 no such retry
policy; 42710 the name is taken by another definition.';

comment on function rota.alter_schedule(
    text, text, text, jsonb, text, text, integer, integer, text, interval, text, text,
    text, integer, interval, text, text[]
) is
'Change a schedule. Another expression, timezone, gap or repeat starts it afresh from
now: nothing fires for the past. Any change mends a broken one. A pause stays.
schedule: its name. Parameters as in create_schedule; null means unchanged.
reset: which of max_attempts, retry_policy, timeout and max_age become null again.
Returns false if nothing changed.
Errors: 42704 no such schedule; else as create_schedule.';

comment on function rota.pause_schedule(text, text) is
'Stop a schedule until resume_schedule. Jobs it has enqueued stay.
schedule: its name. reason: shown in schedule_status; null if there is none to tell.
Returns false if it was paused already.
Errors: 42704 no such schedule; RT008 reason too long.';

comment on function rota.resume_schedule(text) is
'Start a paused or broken schedule again, from now: what it would have fired in the
meantime is neither made up for nor counted as missed.
schedule: its name.
Returns false if it was neither paused nor broken.
Errors: 42704 no such schedule; RT004 its expression or zone is not valid any more.';

comment on function rota.drop_schedule(text) is
'Remove a schedule. Jobs it has enqueued stay.
schedule: its name.
Returns false if there was none.';

comment on function rota.run_schedule_now(text) is
'Enqueue one job of a schedule at once, paused or not; its next fires stay as they are.
schedule: its name.
Returns the job, whose due_at is now; null if overlap is skip and the previous job is
alive.
Errors: 42704 no such schedule; else as enqueue.';

comment on function rota.materialize_schedules(integer) is
'Enqueue the jobs of the schedules that are due: a step of maintain. Any number of
sessions may call it at once; a schedule another session is at is passed over. A
schedule that fails is set aside with its error and does not stop the others.
max_schedules: how many schedules to see to, at most 10000.
Returns the number of jobs.
Errors: 22023 max_schedules not positive.';
