"""The mutants of mutants.py: what is replaced by what, and who should notice."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Mutant:
    """One breakage.

    path: in the checkout. old: must stand there once.
    tests: what to run, the first failure kills the mutant.
    """

    name: str
    path: str
    old: str
    new: str
    tests: tuple[str, ...]


MUTANTS = (
    Mutant(
        "claim waits for rows that others lock",
        "sql/functions/20_claim/_lock_ready_jobs.sql",
        "for update skip locked",
        "for update",
        (
            "tests/py/test_claim_race.py::test_a_claim_passes_by_what_others_are_claiming",
        ),
    ),
    Mutant(
        "claim locks nothing before it updates",
        "sql/functions/20_claim/_lock_ready_jobs.sql",
        "            for update skip locked\n",
        "",
        (
            "tests/py/test_claim_race.py::test_sixteen_sessions_claim_and_complete_in_mixed_batches",
            "tests/py/test_claim_race.py::test_ten_claim_loops_take_a_thousand_jobs_once_each",
            "tests/py/test_claim_race.py::test_a_claim_passes_by_what_others_are_claiming",
        ),
    ),
    Mutant(
        "claim without a limit",
        "sql/functions/20_claim/_lock_ready_jobs.sql",
        "        limit p_max_jobs\n    ) as f",
        "    ) as f",
        (
            "tests/py/test_claim_plan.py::test_a_claim_looks_into_no_lane_behind_those_it_takes_from",
        ),
    ),
    Mutant(
        "claim from the end of the lane",
        "sql/functions/20_claim/_lock_ready_jobs.sql",
        "order by j.position\n",
        "order by j.position desc\n",
        ("tests/sql/20_claim/test_claim_jobs.sql",),
    ),
    Mutant(
        "claim does not count the execution",
        "sql/functions/20_claim/_claim.sql",
        "execution = j.execution + 1",
        "execution = greatest(j.execution, 1)",
        ("tests/sql/20_claim/test_claim_jobs.sql",),
    ),
    Mutant(
        "claim charges twice",
        "sql/functions/20_claim/_claim.sql",
        "attempt = j.attempt + 1",
        "attempt = j.attempt + 2",
        ("tests/sql/20_claim/test_claim_jobs.sql",),
    ),
    Mutant(
        "claimed jobs carry the queue of another",
        "sql/functions/20_claim/_claim.sql",
        "then array_position(v_found.lane_ids, j.lane_id)",
        "then 1",
        (
            "tests/py/test_claim_plan.py::test_a_claim_looks_into_no_lane_behind_those_it_takes_from",
        ),
    ),
    Mutant(
        "all lanes are looked into before some are taken from",
        "sql/functions/20_claim/_lock_ready_jobs.sql",
        "        limit p_max_jobs\n    ) as f",
        "        order by n.priority desc\n        limit p_max_jobs\n    ) as f",
        (
            "tests/py/test_claim_plan.py::test_a_claim_looks_into_no_lane_behind_those_it_takes_from",
        ),
    ),
    Mutant(
        "a lost worker beats on",
        "sql/functions/30_run/_beat.sql",
        " and w.lost_at is null and w.ended_at is null",
        "",
        ("tests/py/test_claim_race.py::test_a_worker_waits_for_the_verdict_on_it",),
    ),
    Mutant(
        "claim does not hold its worker",
        "sql/functions/20_claim/_hold_worker.sql",
        "    for key share;",
        "    ;",
        (
            "tests/py/test_claim_race.py::test_the_reaper_leaves_a_worker_alone_that_is_claiming",
            "tests/py/test_claim_race.py::test_no_job_stays_behind_with_a_worker_that_leaves_while_claiming",
        ),
    ),
    Mutant(
        "a lost worker may go on",
        "sql/functions/20_claim/_living_worker.sql",
        (
            "        or v_worker.lost_at is not null\n"
            "        or v_worker.ended_at is not null\n"
        ),
        "",
        ("tests/py/test_lifecycle_race.py::test_a_late_worker_changes_nothing",),
    ),
    Mutant(
        "a paused queue is claimed from",
        "sql/functions/20_claim/_lock_ready_jobs.sql",
        " and q.paused_at is null",
        "",
        ("tests/sql/70_operate/test_pause_queue.sql",),
    ),
    Mutant(
        "lanes are found by reading the ready index",
        "sql/functions/20_claim/_first_positions.sql",
        "        limit 1\n",
        "",
        (
            "tests/py/test_claim_plan.py::test_a_claim_walks_the_ready_index_without_sorting",
        ),
    ),
    Mutant(
        "a worker leaves without waiting for its claim",
        "sql/functions/40_finish/deregister_worker.sql",
        "    for update;",
        "    ;",
        (
            "tests/py/test_claim_race.py::test_no_job_stays_behind_with_a_worker_that_leaves_while_claiming",
        ),
    ),
    Mutant(
        "complete is not fenced by execution",
        "sql/functions/40_finish/_complete.sql",
        " and j.execution = g.execution",
        "",
        ("tests/sql/40_finish/test_complete_jobs.sql",),
    ),
    Mutant(
        "complete takes a job that nobody runs",
        "sql/functions/40_finish/_complete.sql",
        " and j.claimed_at is not null",
        "",
        (
            "tests/sql/40_finish/test_complete_jobs.sql",
            "tests/py/test_lifecycle_race.py::test_a_late_worker_changes_nothing",
        ),
    ),
    Mutant(
        "fail is not fenced by execution",
        "sql/functions/40_finish/_judge_executions.sql",
        "            and j.execution = g.token\n",
        "",
        ("tests/sql/40_finish/test_fail_jobs.sql",),
    ),
    Mutant(
        "fail takes a job that nobody runs",
        "sql/functions/40_finish/_judge_executions.sql",
        "            and j.claimed_at is not null\n",
        "",
        (
            "tests/sql/40_finish/test_fail_jobs.sql",
            "tests/py/test_lifecycle_race.py::test_a_late_worker_changes_nothing",
        ),
    ),
    Mutant(
        "fail locks in the order given",
        "sql/functions/40_finish/_judge_executions.sql",
        "order by u.token_id, u.token",
        "order by u.token_id desc, u.token",
        ("tests/py/test_lock_order.py::test_running_jobs_are_locked_in_order",),
    ),
    Mutant(
        "fail reads the whole table",
        "sql/functions/40_finish/_note_attempts.sql",
        (
            "set enable_seqscan = off\n"
            "set enable_bitmapscan = off\n"
            "set enable_hashjoin = off\n"
            "set enable_mergejoin = on\n"
            "set enable_nestloop = off\n"
        ),
        "",
        ("tests/py/test_claim_plan.py::test_no_verb_reads_other_jobs_than_its_own",),
    ),
    Mutant(
        "fail goes through all tokens for each job",
        "sql/functions/40_finish/_judge_executions.sql",
        "set enable_mergejoin = on\nset enable_nestloop = off\n",
        "set enable_mergejoin = off\n",
        ("tests/py/test_claim_plan.py::test_no_verb_reads_other_jobs_than_its_own",),
    ),
    Mutant(
        "what comes back goes through all ids for each job",
        "sql/functions/40_finish/_return_jobs.sql",
        "set enable_mergejoin = on\nset enable_nestloop = off\n",
        "set enable_mergejoin = off\n",
        ("tests/py/test_claim_plan.py::test_no_verb_reads_other_jobs_than_its_own",),
    ),
    Mutant(
        "a refused failure reads all history",
        "sql/functions/40_finish/_ended_before.sql",
        "        limit 1\n",
        "",
        ("tests/py/test_claim_plan.py::test_no_verb_reads_other_jobs_than_its_own",),
    ),
    Mutant(
        "a lost attempt is charged",
        "sql/functions/40_finish/_return_jobs.sql",
        "attempt = j.attempt - p.is_refunded::integer",
        "attempt = j.attempt",
        ("tests/sql/60_maintain/test_reap_workers.sql",),
    ),
    Mutant(
        "a loss is not counted",
        "sql/functions/40_finish/_return_jobs.sql",
        "lost_count = j.lost_count + (p.outcome = 'lost')::integer",
        "lost_count = j.lost_count",
        ("tests/sql/60_maintain/test_reap_workers.sql",),
    ),
    Mutant(
        "returned jobs go to the end",
        "sql/functions/40_finish/_return_jobs.sql",
        "then -abs(j.lane_id)",
        "then abs(j.lane_id)",
        ("tests/sql/40_finish/test_release_jobs.sql",),
    ),
    Mutant(
        "a loss too many before a job is dead",
        "sql/functions/40_finish/_judge_executions.sql",
        "h.lost_count + 1 >= (",
        "h.lost_count >= (",
        ("tests/sql/60_maintain/test_reap_workers.sql",),
    ),
    Mutant(
        "an attempt too many before a job is dead",
        "sql/functions/40_finish/_judge_executions.sql",
        "h.attempt >= h.max_attempts",
        "h.attempt > h.max_attempts",
        ("tests/sql/40_finish/test_fail_jobs.sql",),
    ),
    Mutant(
        "a failure after a request to cancel is retried",
        "sql/functions/40_finish/_judge_executions.sql",
        "            when h.cancel_requested_at is not null then 'cancelled'\n",
        "",
        ("tests/sql/40_finish/test_cancel_jobs.sql",),
    ),
    Mutant(
        "the reaper takes workers that live",
        "sql/functions/60_maintain/reap_workers.sql",
        "where e.lease_expires_at <= v_now and ",
        "where ",
        ("tests/sql/60_maintain/test_reap_workers.sql",),
    ),
    Mutant(
        "the reaper waits for jobs that others lock",
        "sql/functions/60_maintain/reap_workers.sql",
        "for update of j skip locked",
        "for update of j",
        (
            "tests/py/test_lock_order.py::test_nothing_waits_for_a_job_that_an_operator_holds",
        ),
    ),
    Mutant(
        "the reaper takes workers that claim",
        "sql/functions/60_maintain/reap_workers.sql",
        "for update skip locked",
        "",
        (
            "tests/py/test_claim_race.py::test_the_reaper_leaves_a_worker_alone_that_is_claiming",
        ),
    ),
    Mutant(
        "the reaper forgets workers with jobs left",
        "sql/functions/60_maintain/reap_workers.sql",
        "            and not rota._has_running_jobs(e.id)\n",
        "",
        (
            "tests/py/test_lock_order.py::test_nothing_waits_for_a_job_that_an_operator_holds",
            "tests/sql/60_maintain/test_reap_workers.sql",
        ),
    ),
    Mutant(
        "workers are looked for among all running jobs",
        "sql/functions/60_maintain/_has_running_jobs.sql",
        "where j.worker_id = p_worker_id and",
        "where coalesce(j.worker_id = p_worker_id) and",
        ("tests/py/test_claim_plan.py::test_no_verb_reads_other_jobs_than_its_own",),
    ),
    Mutant(
        "dead jobs are looked for by a plan that serves every filter",
        "sql/functions/70_operate/purge_dead.sql",
        "set plan_cache_mode = force_custom_plan\n",
        "",
        ("tests/py/test_claim_plan.py::test_no_verb_reads_other_jobs_than_its_own",),
    ),
    Mutant(
        "a job never handed out has a lease to lose",
        "sql/functions/40_finish/_raise_refused.sql",
        "if v_job.execution > 0 and (",
        "if (",
        ("tests/sql/00_contract/test_states.sql",),
    ),
    Mutant(
        "a process started anew on a read-only server ends all",
        "runner/rota/processes.py",
        "if code == EXIT_UNUSABLE and is_first:",
        "if code == EXIT_UNUSABLE:",
        (
            "tests/py/test_runner_faults.py::test_a_process_started_anew_waits_for_a_server_that_takes_writes",
        ),
    ),
    Mutant(
        "jobs that hold all slots are named again and again",
        "runner/rota/slots.py",
        "self._complain_after = 2 * (now - since)",
        "self._complain_after = now - since",
        ("tests/py/test_runner_slots.py",),
    ),
    Mutant(
        "promotion locks nothing",
        "sql/functions/60_maintain/promote_jobs.sql",
        "        for update skip locked\n",
        "",
        ("tests/py/test_lifecycle_race.py::test_promoters_share_the_due_jobs",),
    ),
    Mutant(
        "promotion wakes nobody",
        "sql/functions/60_maintain/promote_jobs.sql",
        "where l.id = any (v_lanes)",
        "where false",
        (
            "tests/py/test_lifecycle_race.py::test_promotion_and_reaping_notify_every_queue_once",
        ),
    ),
    Mutant(
        "a key is one for all queues",
        "sql/functions/10_enqueue/_reserve_key.sql",
        "where ik.queue_id = p_queue_id and ik.key = p_key;",
        "where ik.key = p_key;",
        ("tests/sql/10_enqueue/test_idempotency_keys.sql",),
    ),
    Mutant(
        "two take over a used key",
        "sql/functions/10_enqueue/_reserve_key.sql",
        "                    and ik.job_id = v_held.job_id\n",
        "",
        (
            "tests/py/test_enqueue_race.py::test_of_two_that_take_over_a_used_key_one_wins",
        ),
    ),
    Mutant(
        "a replacement is refused when the job has ended",
        "sql/functions/10_enqueue/_replace_job.sql",
        "            and (ik.expires_at is null or ik.expires_at > rota._now())\n",
        "",
        ("tests/py/test_enqueue_race.py::test_a_replacement_that_comes_too_late",),
    ),
    Mutant(
        "a running job is replaced",
        "sql/functions/10_enqueue/_replace_job.sql",
        " and j.claimed_at is null;",
        ";",
        (
            "tests/sql/10_enqueue/test_idempotency_keys.sql",
            "tests/py/test_enqueue_race.py::test_a_replacement_that_comes_too_late",
        ),
    ),
    Mutant(
        "keys are taken in the order given",
        "sql/functions/10_enqueue/_store_keyed_jobs.sql",
        "order by (g.job).idempotency_key, (g.job).id",
        "order by (g.job).id",
        ("tests/py/test_lock_order.py::test_batches_with_the_same_keys_queue_up",),
    ),
    Mutant(
        "jobs are replaced in the order of their keys",
        "sql/functions/10_enqueue/_store_keyed_jobs.sql",
        "        perform rota._lock_jobs(v_locked);\n",
        "",
        ("tests/py/test_lock_order.py::test_waiting_jobs_are_locked_in_order",),
    ),
    Mutant(
        "a batch waits for a job that was made meanwhile",
        "sql/functions/10_enqueue/_enqueue_keyed.sql",
        "elsif p_on_duplicate = 'replace' and v_held.id <> all (p_locked) then",
        "then",
        (
            "tests/py/test_lock_order.py::test_batches_that_replace_jobs_made_meanwhile_do_not_deadlock",
        ),
    ),
    Mutant(
        "an exchange locks in two orders",
        "sql/functions/45_exchange/exchange.sql",
        "if completed_ids is not null and returned is not null then",
        "if false then",
        ("tests/py/test_lock_order.py::test_running_jobs_are_locked_in_order",),
    ),
    Mutant(
        "an exchange locks jobs before its worker",
        "sql/functions/45_exchange/exchange.sql",
        "if v_is_held then",
        "if false then",
        (
            "tests/py/test_lock_order.py::test_an_exchange_holds_its_worker_before_it_waits_for_jobs",
        ),
    ),
    Mutant(
        "a batch wakes nobody",
        "sql/functions/10_enqueue/enqueue_jobs.sql",
        "perform rota._wake_queues(array[v_queue.id]);",
        "null;",
        (
            "tests/py/test_lifecycle_race.py::test_what_makes_jobs_claimable_notifies_once_for_a_queue_and_nothing_else_does",
        ),
    ),
    Mutant(
        "resuming wakes nobody",
        "sql/functions/70_operate/resume_queue.sql",
        "perform rota._wake_queues(array[v_queue_id]);",
        "null;",
        (
            "tests/py/test_lifecycle_race.py::test_what_makes_jobs_claimable_notifies_once_for_a_queue_and_nothing_else_does",
        ),
    ),
    Mutant(
        "jitter lengthens a delay",
        "sql/functions/00_core/_retry_delay.sql",
        "(1 - v_spread * random())",
        "(1 + v_spread * random())",
        ("tests/sql/00_core/test_retry_delay.sql",),
    ),
    Mutant(
        "retention is off by a day",
        "sql/functions/60_maintain/ensure_partitions.sql",
        "rota._now() - s.retention",
        "rota._now() - s.retention + '1 day'",
        ("tests/sql/60_maintain/test_ensure_partitions.sql",),
    ),
    Mutant(
        "functions are left to PUBLIC",
        "sql/grants.sql",
        "revoke all on all functions in schema rota",
        "revoke all on function rota.version",
        ("tests/sql/00_contract/test_functions.sql",),
    ),
    Mutant(
        "workers may purge",
        "sql/grants.sql",
        "    rota.purge_dead\nto rota_operator;",
        "    rota.purge_dead\nto rota_operator, rota_worker;",
        ("tests/py/test_roles.py::test_a_role_calls_its_own_functions_only",),
    ),
    Mutant(
        "a view is for producers too",
        "sql/grants.sql",
        "to rota_operator, rota_observer;",
        "to rota_operator, rota_producer;",
        (
            "tests/sql/00_contract/test_privileges.sql",
            "tests/py/test_roles.py",
        ),
    ),
    Mutant(
        "a lease that ends now lives on",
        "sql/functions/60_maintain/reap_workers.sql",
        "e.lease_expires_at <= v_now",
        "e.lease_expires_at < v_now",
        ("tests/sql/60_maintain/test_reap_workers.sql",),
    ),
    Mutant(
        "a heartbeat does not renew the lease",
        "sql/functions/30_run/_beat.sql",
        ", lease_expires_at = v_now + w.lease",
        "",
        ("tests/sql/30_run/test_heartbeat.sql",),
    ),
    Mutant(
        "a worker with jobs is forgotten",
        "sql/functions/60_maintain/purge_workers.sql",
        " and not rota._has_running_jobs(w.id)",
        "",
        ("tests/sql/60_maintain/test_purge_workers.sql",),
    ),
    Mutant(
        "the jobs of workers that live are looked for",
        "sql/functions/60_maintain/purge_workers.sql",
        "    where w.ended_at < v_before and not",
        "    where not",
        (
            "tests/py/test_floors.py::test_beside_a_snapshot_living_workers_cost_nothing",
        ),
    ),
    Mutant(
        "all requests to cancel are looked at again",
        "sql/functions/30_run/_cancel_requests.sql",
        "if v_floor < rota._now() - interval '1 second' then",
        "if false then",
        (
            "tests/py/test_floors.py::test_beside_a_snapshot_ended_cancellations_are_free",
        ),
    ),
    Mutant(
        "who asks to cancel is not waited for",
        "sql/functions/40_finish/cancel_jobs.sql",
        "    perform rota._enter_line();\n",
        "",
        ("tests/py/test_floors.py::test_a_request_to_cancel_committed_late_is_heard",),
    ),
    Mutant(
        "a floor does not wait for its horizon",
        "sql/functions/20_claim/_settle_positions.sql",
        "pg_snapshot_xmin(pg_current_snapshot()) >= v_state.horizon",
        "v_state.horizon is not null",
        (
            "tests/py/test_floors.py::test_an_id_beyond_the_marking_snapshot_is_waited_for",
        ),
    ),
    Mutant(
        "a mark is read after its horizon",
        "sql/functions/20_claim/_mark_positions.sql",
        "p_state.horizon := v_own;",
        "p_state.horizon := v_own; p_state.mark := rota._last_position();",
        (
            "tests/py/test_floors.py::test_an_id_beyond_the_marking_snapshot_is_waited_for",
        ),
    ),
    Mutant(
        "a mark's own transaction is its horizon",
        "sql/functions/20_claim/_mark_positions.sql",
        " and p_state.marked_by <> v_own",
        "",
        (
            "tests/py/test_floors.py::test_a_session_that_claims_inside_one_long_transaction_misses_nothing",
        ),
    ),
    Mutant(
        "a floor does not wait for who holds the line",
        "sql/functions/20_claim/_settle_positions.sql",
        "        and not v_state.holders && rota._line_holders()\n",
        "",
        (
            "tests/py/test_floors.py::test_a_late_commit_is_claimed",
            "tests/py/test_floors.py::test_enqueuers_in_turn_beside_a_long_writer_are_waited_for",
        ),
    ),
    Mutant(
        "a held mark is read after its holders",
        "sql/functions/20_claim/_settle_positions.sql",
        "v_state.settled := v_state.held_mark;",
        "v_state.settled := rota._last_position();",
        (
            "tests/py/test_floors.py::test_enqueuers_in_turn_beside_a_long_writer_are_waited_for",
        ),
    ),
    Mutant(
        "a floor is one too high",
        "sql/functions/20_claim/_raise_floors.sql",
        "p_state.settled + 1)",
        "p_state.settled + 2)",
        (
            "tests/py/test_floors.py::test_many_late_commits_at_every_phase_are_claimed",
            "tests/py/test_floors.py::test_a_late_commit_is_claimed",
        ),
    ),
    Mutant(
        "floors rise in strict transactions",
        "sql/functions/20_claim/_settle_positions.sql",
        "        or current_setting('transaction_isolation') <> 'read committed'\n",
        "",
        (
            "tests/py/test_floors.py::test_a_strict_claimer_beside_a_long_writer_leaves_its_floor",
        ),
    ),
    Mutant(
        "an enqueuer takes no transaction id first",
        "sql/functions/10_enqueue/_enter_line.sql",
        "when pg_catalog.pg_current_xact_id() is not null",
        "when true",
        (
            "tests/py/test_floors.py::test_a_position_is_not_taken_before_a_transaction_id",
        ),
    ),
    Mutant(
        "an enqueuer does not enter the line",
        "sql/functions/10_enqueue/_enter_line.sql",
        "pg_catalog.pg_advisory_xact_lock_shared(rota._lock_class(), 1)",
        "''::pg_catalog.void",
        (
            "tests/py/test_runner_jobs.py::test_what_was_enqueued_unseen_is_run_when_it_commits",
        ),
    ),
    Mutant(
        "a prepared enqueuer is not seen",
        "sql/functions/20_claim/_line_holders.sql",
        "when l.virtualtransaction like '-1/%' then '-1'",
        "when l.virtualtransaction like '-1/%' then null",
        (
            "tests/py/test_floors.py::test_an_enqueue_prepared_before_a_restart_is_waited_for",
        ),
    ),
    Mutant(
        "lower priorities first",
        "sql/functions/20_claim/_lock_ready_jobs.sql",
        "2 * l.priority",
        "-2 * l.priority",
        ("tests/sql/20_claim/test_claim_jobs.sql",),
    ),
    Mutant(
        "front lanes last",
        "sql/functions/20_claim/_lock_ready_jobs.sql",
        "(s.lane_id < 0)::integer",
        "(s.lane_id > 0)::integer",
        ("tests/sql/40_finish/test_release_jobs.sql",),
    ),
    Mutant(
        "promoted in the order of their ids",
        "sql/functions/60_maintain/promote_jobs.sql",
        "        order by j.run_at, j.id\n",
        "        order by j.id\n",
        ("tests/sql/60_maintain/test_promote_jobs.sql",),
    ),
    Mutant(
        "a job is promoted a second early",
        "sql/functions/60_maintain/promote_jobs.sql",
        "j.run_at <= v_now",
        "j.run_at <= v_now + interval '1 second'",
        ("tests/sql/60_maintain/test_promote_jobs.sql",),
    ),
    Mutant(
        "a job due now waits",
        "sql/functions/60_maintain/promote_jobs.sql",
        "j.run_at <= v_now",
        "j.run_at < v_now",
        ("tests/sql/60_maintain/test_promote_jobs.sql",),
    ),
    Mutant(
        "a timeout sets no deadline",
        "sql/functions/20_claim/_claim.sql",
        "deadline_at = v_now + j.timeout",
        "deadline_at = null",
        ("tests/sql/60_maintain/test_time_out_jobs.sql",),
    ),
    Mutant(
        "a hung worker gets no grace",
        "sql/functions/60_maintain/time_out_jobs.sql",
        "rota._now() - (select s.timeout_grace from rota.setting as s)",
        "rota._now()",
        ("tests/sql/60_maintain/test_time_out_jobs.sql",),
    ),
    Mutant(
        "an expired key is held",
        "sql/functions/10_enqueue/_reserve_key.sql",
        "v_held.expires_at is null and v_held.job_id is not null",
        "v_held.job_id is not null",
        ("tests/sql/10_enqueue/test_idempotency_keys.sql",),
    ),
    Mutant(
        "a key is free when its job ends",
        "sql/functions/40_finish/_free_keys.sql",
        "coalesce(j.key_ttl, interval '0')",
        "interval '0'",
        ("tests/sql/10_enqueue/test_idempotency_keys.sql",),
    ),
    Mutant(
        "keys are purged before they expire",
        "sql/functions/60_maintain/purge_keys.sql",
        "and e.expires_at <= rota._now()",
        "",
        ("tests/sql/60_maintain/test_purge_keys.sql",),
    ),
    Mutant(
        "a day too many is dropped",
        "sql/functions/60_maintain/_roll_partitions.sql",
        "< p_keep_since::date",
        "<= p_keep_since::date",
        ("tests/sql/60_maintain/test_ensure_partitions.sql",),
    ),
    Mutant(
        "a queue's archive is emptied",
        "sql/functions/60_maintain/_purge_queue.sql",
        "            and o.finished_at < p_until\n",
        "",
        ("tests/sql/60_maintain/test_purge_archive.sql",),
    ),
    Mutant(
        "all archives go by one queue's retention",
        "sql/functions/60_maintain/_purge_queue.sql",
        "where l.queue_id = p_queue_id",
        "where true",
        ("tests/sql/60_maintain/test_purge_archive.sql",),
    ),
    Mutant(
        "a snooze is charged",
        "sql/functions/40_finish/_judge_executions.sql",
        "('failed', 'timed_out') as is_charged",
        "('failed', 'timed_out', 'snoozed') as is_charged",
        ("tests/sql/40_finish/test_snooze_jobs.sql",),
    ),
    Mutant(
        "a timeout is not charged",
        "sql/functions/40_finish/_judge_executions.sql",
        "('failed', 'timed_out') as is_charged",
        "('failed') as is_charged",
        ("tests/sql/60_maintain/test_time_out_jobs.sql",),
    ),
    Mutant(
        "a chosen delay is ignored",
        "sql/functions/40_finish/_judge_executions.sql",
        "                    h.delay,\n",
        "                    null,\n",
        ("tests/sql/40_finish/test_fail_jobs.sql",),
    ),
    Mutant(
        "what cannot succeed is tried again",
        "sql/functions/40_finish/_judge_executions.sql",
        "not coalesce(h.is_retryable, true)",
        "not true",
        ("tests/sql/40_finish/test_fail_jobs.sql",),
    ),
    Mutant(
        "delays grow over their cap",
        "sql/functions/00_core/_retry_delay.sql",
        "least(v_delay, v_cap)",
        "v_delay",
        ("tests/sql/00_core/test_retry_delay.sql",),
    ),
    Mutant(
        "growth begins a step late",
        "sql/functions/00_core/_retry_delay.sql",
        "greatest(p_attempt, 1) - 1;",
        "greatest(p_attempt, 2) - 2;",
        ("tests/sql/00_core/test_retry_delay.sql",),
    ),
    Mutant(
        "a failed execution leaves no trace",
        "sql/functions/40_finish/_note_attempts.sql",
        "    inner join rota.job as j on j.id = e.id\n",
        "    inner join rota.job as j on j.id = -e.id\n",
        ("tests/sql/40_finish/test_fail_jobs.sql",),
    ),
    Mutant(
        "a replay counts executions anew",
        "sql/functions/70_operate/_revive_jobs.sql",
        "        r.execution,\n",
        "        0,\n",
        ("tests/sql/70_operate/test_replay_dead.sql",),
    ),
    Mutant(
        "a replay keeps the attempts",
        "sql/functions/70_operate/_revive_jobs.sql",
        "        0,\n        r.max_attempts,",
        "        r.attempt,\n        r.max_attempts,",
        ("tests/sql/70_operate/test_replay_dead.sql",),
    ),
    Mutant(
        "a replay takes the key of another job",
        "sql/functions/70_operate/_retake_keys.sql",
        (
            "\n"
            "                and (ik.expires_at <= rota._now() or ik.job_id = "
            "v_dead.id)"
        ),
        "",
        ("tests/sql/70_operate/test_replay_dead.sql",),
    ),
    Mutant(
        "a running job is cancelled under its worker",
        "sql/functions/40_finish/cancel_jobs.sql",
        "filter (where l.state = 'running')",
        "filter (where false)",
        ("tests/sql/40_finish/test_cancel_jobs.sql",),
    ),
    Mutant(
        "strays are the jobs that are known",
        "sql/functions/40_finish/release_stray_jobs.sql",
        "        and not exists (",
        "        and exists (",
        ("tests/sql/40_finish/test_release_stray_jobs.sql",),
    ),
    Mutant(
        "a wake-up though nobody sleeps",
        "sql/functions/10_enqueue/_is_marked.sql",
        "then not pg_catalog.pg_advisory_unlock(",
        "then pg_catalog.pg_advisory_unlock(",
        (
            "tests/py/test_lifecycle_race.py::test_what_makes_jobs_claimable_notifies_once_for_a_queue_and_nothing_else_does",
        ),
    ),
    Mutant(
        "a paused queue wakes its runners",
        "sql/functions/10_enqueue/_wake_queues.sql",
        "            and q.paused_at is null\n",
        "",
        (
            "tests/py/test_lifecycle_race.py::test_what_makes_jobs_claimable_notifies_once_for_a_queue_and_nothing_else_does",
        ),
    ),
    Mutant(
        "one job wakes nobody",
        "sql/functions/10_enqueue/enqueue.sql",
        "and not rota._is_marked(0) then",
        "then",
        (
            "tests/py/test_lifecycle_race.py::test_what_makes_jobs_claimable_notifies_once_for_a_queue_and_nothing_else_does",
        ),
    ),
    Mutant(
        "what comes back wakes nobody",
        "sql/functions/40_finish/_end_executions.sql",
        "where e.run_at <= v_now + rota._longest_sleep()",
        "where false",
        (
            "tests/py/test_lifecycle_race.py::test_what_makes_jobs_claimable_notifies_once_for_a_queue_and_nothing_else_does",
        ),
    ),
    Mutant(
        "every sleeper is woken, whatever its queues",
        "sql/functions/10_enqueue/_wake_queues.sql",
        "            and (rota._is_marked(-q.id) or rota._is_marked(2147483647))",
        "",
        (
            "tests/py/test_lifecycle_race.py::test_only_runners_that_may_take_the_job_are_woken",
        ),
    ),
    Mutant(
        "a sleeping runner is not marked",
        "sql/functions/20_claim/mark_idle.sql",
        "from rota._idle_keys(queues) as k (key)",
        "from rota._idle_keys(queues) as k (key) where false",
        ("tests/sql/20_claim/test_mark_idle.sql",),
    ),
    Mutant(
        "a fire has no key",
        "sql/functions/50_schedule/_schedule_enqueue.sql",
        "idempotency_key => p_key",
        "idempotency_key => null",
        ("tests/sql/50_schedule/test_materialize_schedules.sql",),
    ),
    Mutant(
        "maintainers wait for each other's schedules",
        "sql/functions/50_schedule/materialize_schedules.sql",
        "for update skip locked",
        "for update",
        (
            "tests/py/test_schedule_race.py::test_a_schedule_in_the_hands_of_one_session_is_passed_over_by_the_others",
        ),
    ),
    Mutant(
        "a schedule is fired without its lock",
        "sql/functions/50_schedule/materialize_schedules.sql",
        "        for update skip locked\n",
        "",
        (
            "tests/py/test_schedule_race.py::test_a_schedule_in_the_hands_of_one_session_is_passed_over_by_the_others",
        ),
    ),
    Mutant(
        "a repeated hour fires twice",
        "sql/functions/50_schedule/_cron_fires.sql",
        "if p_repeat = 'first' and ",
        "if false and ",
        ("tests/sql/50_schedule/test_cron_next.sql",),
    ),
    Mutant(
        "what falls into a gap is skipped",
        "sql/functions/50_schedule/_cron_fires.sql",
        "if p_gap = 'run_after' then",
        "if false then",
        ("tests/sql/50_schedule/test_cron_next.sql",),
    ),
    Mutant(
        "day of month and weekday must both match",
        "sql/functions/50_schedule/_cron_days.sql",
        "if p_cron.needs_both_days then",
        "if true then",
        ("tests/sql/50_schedule/test_cron_next.sql",),
    ),
    Mutant(
        "fires overlap that must not",
        "sql/functions/50_schedule/_fire_schedule.sql",
        "if rota._schedule_is_busy(p_schedule) then",
        "if false then",
        ("tests/sql/50_schedule/test_materialize_schedules.sql",),
    ),
    Mutant(
        "a gate without a path",
        "sql/functions/10_enqueue/enqueue.sql",
        "set search_path = pg_catalog, pg_temp\n",
        "",
        ("tests/sql/00_contract/test_functions.sql",),
    ),
    Mutant(
        "tables are left to who had them",
        "sql/grants.sql",
        "revoke all on all tables in schema rota\nfrom rota_producer",
        "revoke all on rota.job\nfrom rota_producer",
        (
            "tests/py/test_roles.py::test_an_upgrade_takes_back_what_others_granted_on_tables",
        ),
    ),
    Mutant(
        "a payload may be of any size",
        "sql/functions/10_enqueue/_check_job.sql",
        "octet_length(p_payload::text) > p_max_payload_bytes",
        "false",
        ("tests/sql/10_enqueue/test_enqueue.sql",),
    ),
    Mutant(
        "results are dropped with the connection",
        "runner/rota/session.py",
        "sent = self.settlements[self._held_up_count :]\n",
        "sent, self.settlements = self.settlements, []\n",
        (
            "tests/py/test_runner_faults.py::test_a_completion_whose_answer_is_lost_is_sent_again",
        ),
    ),
    Mutant(
        "strays are not looked for",
        "runner/rota/session.py",
        "self._may_hold_strays = max_jobs > 0",
        "self._may_hold_strays = False",
        ("tests/py/test_runner_faults.py::test_jobs_in_a_lost_answer_come_back",),
    ),
    Mutant(
        "strays of an unread answer are not looked for",
        "runner/rota/session.py",
        "            self._may_hold_strays = True\n",
        "            self._may_hold_strays = False\n",
        (
            "tests/py/test_runner_jobs.py::test_jobs_in_an_answer_that_cannot_be_read_come_back",
        ),
    ),
    Mutant(
        "a lost worker does not register again",
        "runner/rota/session.py",
        "self._id, self._may_hold_strays = None, False",
        "self._may_hold_strays = False",
        ("tests/py/test_runner_faults.py::test_a_late_finish_after_a_stop_is_refused",),
    ),
    Mutant(
        "one refused result holds up all",
        "runner/rota/session.py",
        "elif sent and _is_about_values(error):",
        "elif False:",
        (
            "tests/py/test_runner_jobs.py::test_a_result_that_the_database_refuses_is_dead_at_once",
        ),
    ),
    Mutant(
        "no second look after lying down",
        "runner/rota/wakeups.py",
        "        self._wake()\n        pause =",
        "        pause =",
        (
            "tests/py/test_runner_jobs.py::test_the_listener_is_replaced_and_what_it_missed_is_run",
        ),
    ),
    Mutant(
        "enqueuers under way are not waited for",
        "runner/rota/wakeups.py",
        "while in_flight and self.idle.is_set():",
        "while False:",
        (
            "tests/py/test_runner_jobs.py::test_what_was_enqueued_unseen_is_run_when_it_commits",
        ),
    ),
    Mutant(
        "a runner sleeps unmarked",
        "runner/rota/wakeups.py",
        "await protocol.mark_idle(queues=self._queues).on_async(connection)",
        "pass",
        (
            "tests/py/test_runner_jobs.py::test_a_sleeping_runner_is_woken_again_and_again",
        ),
    ),
    Mutant(
        "a busy runner is marked as sleeping",
        "runner/rota/wakeups.py",
        "await protocol.mark_busy(queues=self._queues).on_async(connection)",
        "pass",
        ("tests/py/test_wakeups.py::test_a_busy_runner_is_not_marked_as_sleeping",),
    ),
    Mutant(
        "a runner is woken for each job, however many come",
        "runner/rota/worker.py",
        "if self._may_have_more or self._pace.is_brisk or not",
        "if self._may_have_more or not",
        (
            "tests/py/test_wakeups.py::test_a_runner_to_whom_jobs_keep_coming_need_not_be_woken",
        ),
    ),
    Mutant(
        "a runner that is not woken does not look by itself",
        "runner/rota/worker.py",
        "GATHERING_SECONDS if self._pace.is_brisk else self._poll",
        "self._poll",
        (
            "tests/py/test_wakeups.py::test_a_runner_to_whom_jobs_keep_coming_need_not_be_woken",
        ),
    ),
    Mutant(
        "a lost listener is not replaced",
        "runner/rota/wakeups.py",
        "await asyncio.sleep(backoff.pause())",
        "return",
        (
            "tests/py/test_runner_jobs.py::test_the_listener_is_replaced_and_what_it_missed_is_run",
        ),
    ),
    Mutant(
        "a drain releases nothing",
        "runner/rota/worker.py",
        'loop.call_later(seconds, self._stop_all, "released")',
        "pass",
        (
            "tests/py/test_runner_shutdown.py::test_what_outlasts_the_grace_time_is_handed_back",
        ),
    ),
    Mutant(
        "a drain keeps what was fetched ahead",
        "runner/rota/worker.py",
        "        self._put_back(self._slots.take_all())\n        loop.call_later",
        "        loop.call_later",
        (
            "tests/py/test_runner_jobs.py::test_a_drain_hands_back_at_once_what_was_fetched_ahead",
        ),
    ),
    Mutant(
        "a drain claims on",
        "runner/rota/worker.py",
        "return self._is_serving and not self._drain_begun.is_set()",
        "return self._is_serving",
        (
            "tests/py/test_runner_shutdown.py::test_what_runs_is_finished_and_nothing_else_is_begun",
        ),
    ),
    Mutant(
        "handlers go on after a lost lease",
        "runner/rota/worker.py",
        'self._stop_all("lost")',
        "pass",
        (
            "tests/py/test_runner_faults.py::test_a_handler_whose_lease_is_lost_is_told_to_end",
        ),
    ),
    Mutant(
        "a request to cancel is not passed on",
        "runner/rota/worker.py",
        "                    execution.cancel()\n",
        "                    pass\n",
        ("tests/py/test_runner_faults.py::test_a_running_job_is_told_to_end",),
    ),
    Mutant(
        "jobs fetched ahead are hoarded",
        "runner/rota/worker.py",
        "if stale := self._slots.take_stale():",
        "if stale := []:",
        (
            "tests/py/test_runner_faults.py::test_no_runner_keeps_jobs_that_another_could_run",
        ),
    ),
    Mutant(
        "a busy runner does not beat",
        "runner/rota/worker.py",
        "self._asked_at + lease / 3",
        "self._asked_at + lease * 3",
        ("tests/py/test_runner_jobs.py::test_a_busy_runner_renews_its_lease_in_time",),
    ),
    Mutant(
        "what falls due waits for maintenance",
        "runner/rota/worker.py",
        "self._maintain_at = min(self._maintain_at, max(due_at, earliest))",
        "pass",
        (
            "tests/py/test_runner_jobs.py::test_a_delayed_job_does_not_wait_for_the_poll",
        ),
    ),
    Mutant(
        "a timeout is ignored",
        "runner/rota/execution.py",
        "if timeout := self._claimed.timeout:",
        "if timeout := None:",
        (
            "tests/py/test_runner_faults.py::test_a_job_that_takes_too_long_is_timed_out",
        ),
    ),
    Mutant(
        "an error after the completion fails the job",
        "runner/rota/execution.py",
        "if job.is_completed:\n            logger",
        "if False:\n            logger",
        (
            "tests/py/test_runner_jobs.py::test_raising_after_the_completion_changes_nothing",
        ),
    ),
    Mutant(
        "a second signal is ignored",
        "runner/rota/__main__.py",
        "            worker.stop()",
        "            pass",
        ("tests/py/test_runner_shutdown.py::test_a_second_signal_ends_it_now",),
    ),
    Mutant(
        "what was handed back is not told",
        "runner/rota/__main__.py",
        "code = EXIT_UNFINISHED",
        "code = 0",
        (
            "tests/py/test_runner_shutdown.py::test_what_outlasts_the_grace_time_is_handed_back",
        ),
    ),
    Mutant(
        "a handler that never ends keeps the process",
        "runner/rota/__main__.py",
        "if worker.has_stragglers:",
        "if False:",
        (
            "tests/py/test_runner_shutdown.py::test_what_outlasts_the_grace_time_is_handed_back",
        ),
    ),
    Mutant(
        "children are not told to stop",
        "runner/rota/processes.py",
        "child.send_signal(number)",
        "pass",
        (
            "tests/py/test_runner_shutdown.py::test_processes_are_started_anew_and_stopped_together",
        ),
    ),
    Mutant(
        "pauses grow without end",
        "runner/rota/connections.py",
        "min(self._next * 2, self._cap)",
        "self._next * 2",
        (
            "tests/py/test_runner_faults.py::test_pauses_between_tries_grow_to_half_a_minute",
        ),
    ),
    Mutant(
        "pauses are all alike",
        "runner/rota/connections.py",
        "random.uniform(0.5, 1.0)",
        "1.0",
        (
            "tests/py/test_runner_faults.py::test_pauses_between_tries_grow_to_half_a_minute",
        ),
    ),
    Mutant(
        "effects commit without their fence",
        "runner/rota/job.py",
        "            self._completion().on(connection)\n",
        "",
        ("tests/py/test_runner_jobs.py::test_a_lost_lease_undoes_the_effects",),
    ),
    Mutant(
        "effects of coroutines commit without their fence",
        "runner/rota/job.py",
        "            await self._completion().on_async(connection)\n",
        "",
        ("tests/py/test_runner_jobs.py::test_effects_and_completion_commit_together",),
    ),
    Mutant(
        "more handlers than slots",
        "runner/rota/slots.py",
        "if self._is_opening or len(self._tasks) >= self._count:",
        "if self._is_opening:",
        (
            "tests/py/test_runner_slots.py::test_no_more_run_at_once_than_there_are_slots",
        ),
    ),
    Mutant(
        "a handler sees the variables of another",
        "runner/rota/slots.py",
        "if task.cancelling() or not _is_unchanged(variables):",
        "if task.cancelling():",
        (
            "tests/py/test_runner_slots.py::test_context_variables_do_not_leak_into_the_next_job",
        ),
    ),
    Mutant(
        "upgrade without a column of the new tables",
        "sql/migrations/0.2.0.sql",
        "alter table rota.worker add column version text;",
        "",
        ("tests/py/test_upgrade.py",),
    ),
    Mutant(
        "upgrade keeps functions that are no more",
        "sql/scripts/remove.sql",
        "execute format('drop function %s', v_function);",
        "null;",
        ("tests/py/test_upgrade_steps.py",),
    ),
    Mutant(
        "upgrade drops functions under those who call them",
        "sql/scripts/leftovers.sql",
        "p.proname !~ '^_' and exists",
        "true or exists",
        ("tests/py/test_upgrade_steps.py",),
    ),
    Mutant(
        "upgrade does not wait for calls to end",
        "sql/scripts/wait.sql",
        "while clock_timestamp() < v_limit and exists",
        "while false and exists",
        ("tests/py/test_upgrade_steps.py",),
    ),
    Mutant(
        "upgrade forgets grants to other roles",
        "sql/scripts/own_grants.sql",
        "where\n            (g.kind",
        "where\n            false and (g.kind",
        ("tests/py/test_upgrade_steps.py",),
    ),
    Mutant(
        "upgrade waits for a table as long as it takes",
        "sql/scripts/upgrade.sql",
        "set local lock_timeout = '500ms';",
        "set local lock_timeout = 0;",
        ("tests/py/test_upgrade_steps.py",),
    ),
    Mutant(
        "upgrade makes new things its own",
        "sql/scripts/upgrade.sql",
        "perform set_config('role', v_owner, true);",
        "null;",
        ("tests/py/test_upgrade_steps.py",),
    ),
    Mutant(
        "upgrade leaves old rows unchecked",
        "sql/scripts/validate.sql",
        "and not c.convalidated",
        "and false",
        ("tests/py/test_upgrade_steps.py",),
    ),
    Mutant(
        "upgrade from whatever version there is",
        "sql/scripts/upgrade.sql",
        "elsif rota.version() <> '@FROM@' then",
        "then",
        ("tests/py/test_upgrade_steps.py",),
    ),
    Mutant(
        "upgrade opens new functions to everybody",
        "sql/revokes.sql",
        "revoke all on all functions in schema rota from public;",
        "",
        ("tests/py/test_upgrade_steps.py",),
    ),
    Mutant(
        "extension whose rows are not dumped",
        "sql/scripts/configuration.sql",
        "c.relkind in ('r', 'S')",
        "c.relkind in ('r')",
        ("tests/py/test_extension.py",),
    ),
    Mutant(
        "extension whose first rows are in the way of a dump's",
        "sql/scripts/restore.sql",
        "delete from rota.retry_policy as p",
        "delete from rota.retry_policy as p using rota.job as j",
        ("tests/py/test_extension.py",),
    ),
    Mutant(
        "extension over what is there",
        "sql/scripts/extension.sql",
        "raise exception 'schema rota already exists, and is not empty'",
        "raise warning 'schema rota already exists, and is not empty'",
        ("tests/py/test_extension.py",),
    ),
    Mutant(
        "a loss that kills is charged",
        "sql/functions/40_finish/_bury_jobs.sql",
        "b.attempt - e.is_refunded::integer",
        "b.attempt",
        ("tests/py/test_model.py",),
    ),
)
