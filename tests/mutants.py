"""Break the SQL on purpose, one place at a time, and see that a test notices.

    python tests/mutants.py [words of a mutant's name]

Each mutant is a copy of `sql/` with one piece of text replaced. The tests that should
see it run against that copy; if all of them pass, the mutant survives and this fails.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from rota import schema

CHECKOUT = Path(__file__).resolve().parents[1]
CLAIM = ("tests/py/test_claim_race.py",)
ENQUEUE = ("tests/py/test_enqueue_race.py",)
LIFE = ("tests/py/test_lifecycle_race.py",)
LOCKS = ("tests/py/test_lock_order.py",)
PLANS = ("tests/py/test_claim_plan.py",)
ROLES = ("tests/py/test_roles.py",)
PGTAP = ("tests/sql",)
MODEL = ("tests/py/test_model.py",)


@dataclass(frozen=True, slots=True)
class Mutant:
    name: str
    path: str
    old: str
    new: str
    tests: tuple[str, ...]

    def write(self, folder: Path) -> None:
        """Copy `sql/` into the folder, broken."""
        shutil.copytree(schema.source(), folder, dirs_exist_ok=True)
        path = folder / self.path
        text = path.read_text(encoding="utf-8")
        if text.count(self.old) != 1:
            raise SystemExit(f"{self.name}: not once in {self.path}: {self.old!r}")
        path.write_text(text.replace(self.old, self.new), encoding="utf-8")


MUTANTS = (
    Mutant(
        "claim waits for rows that others lock",
        "functions/20_claim/_claim_lane.sql",
        "for update skip locked",
        "for update",
        CLAIM,
    ),
    Mutant(
        "claim locks nothing before it updates",
        "functions/20_claim/_claim_lane.sql",
        "            for update skip locked\n",
        "",
        CLAIM,
    ),
    Mutant(
        "claim without a limit",
        "functions/20_claim/_claim_lane.sql",
        "            limit p_max_jobs\n",
        "",
        CLAIM,
    ),
    Mutant(
        "claim from the end of the lane",
        "functions/20_claim/_claim_lane.sql",
        "order by c.position\n            limit",
        "order by c.position desc limit",
        CLAIM,
    ),
    Mutant(
        "claim does not count the execution",
        "functions/20_claim/_claim_lane.sql",
        "execution = j.execution + 1",
        "execution = greatest(j.execution, 1)",
        LIFE,
    ),
    Mutant(
        "claim charges twice",
        "functions/20_claim/_claim_lane.sql",
        "attempt = j.attempt + 1",
        "attempt = j.attempt + 2",
        CLAIM,
    ),
    Mutant(
        "a lost worker beats on",
        "functions/30_run/_beat.sql",
        " and w.lost_at is null and w.ended_at is null",
        "",
        CLAIM,
    ),
    Mutant(
        "claim does not hold its worker",
        "functions/20_claim/_hold_worker.sql",
        "    for key share;",
        "    ;",
        CLAIM,
    ),
    Mutant(
        "a lost worker may go on",
        "functions/20_claim/_living_worker.sql",
        "        or v_worker.lost_at is not null\n"
        "        or v_worker.ended_at is not null\n",
        "",
        LIFE,
    ),
    Mutant(
        "a paused queue is claimed from",
        "functions/20_claim/_ready_lanes.sql",
        " and q.paused_at is null",
        "",
        CLAIM,
    ),
    Mutant(
        "lanes are found by reading the ready index",
        "functions/20_claim/_ready_lanes.sql",
        "        limit 1\n",
        "",
        PLANS,
    ),
    Mutant(
        "a worker leaves without waiting for its claim",
        "functions/40_finish/deregister_worker.sql",
        "    for update;",
        "    ;",
        CLAIM,
    ),
    Mutant(
        "complete is not fenced by execution",
        "functions/40_finish/complete_jobs.sql",
        " and j.execution = g.execution",
        "",
        LIFE,
    ),
    Mutant(
        "complete takes a job that nobody runs",
        "functions/40_finish/complete_jobs.sql",
        " and j.claimed_at is not null",
        "",
        LIFE,
    ),
    Mutant(
        "complete locks in the order given",
        "functions/40_finish/complete_jobs.sql",
        "        order by g.id\n",
        "",
        LOCKS,
    ),
    Mutant(
        "fail is not fenced by execution",
        "functions/40_finish/_judge_executions.sql",
        "where j.execution = g.token and j.claimed_at is not null",
        "where j.claimed_at is not null",
        LIFE,
    ),
    Mutant(
        "fail takes a job that nobody runs",
        "functions/40_finish/_judge_executions.sql",
        "where j.execution = g.token and j.claimed_at is not null",
        "where j.execution = g.token",
        LIFE,
    ),
    Mutant(
        "fail locks in the order given",
        "functions/40_finish/_judge_executions.sql",
        "order by u.token_id, u.token",
        "order by u.token_id desc, u.token",
        LOCKS,
    ),
    Mutant(
        "fail reads the whole table",
        "functions/40_finish/_note_attempts.sql",
        "set enable_seqscan = off\n"
        "set enable_bitmapscan = off\n"
        "set enable_hashjoin = off\n"
        "set enable_mergejoin = off\n",
        "",
        PLANS,
    ),
    Mutant(
        "a refused failure reads all history",
        "functions/40_finish/_ended_before.sql",
        "        limit 1\n",
        "",
        PLANS,
    ),
    Mutant(
        "a lost attempt is charged",
        "functions/40_finish/_return_jobs.sql",
        "attempt = j.attempt - p.is_refunded::integer",
        "attempt = j.attempt",
        LIFE,
    ),
    Mutant(
        "a loss is not counted",
        "functions/40_finish/_return_jobs.sql",
        "lost_count = j.lost_count + (p.outcome = 'lost')::integer",
        "lost_count = j.lost_count",
        LIFE,
    ),
    Mutant(
        "returned jobs go to the end",
        "functions/40_finish/_return_jobs.sql",
        "then -abs(j.lane_id)",
        "then abs(j.lane_id)",
        LOCKS,
    ),
    Mutant(
        "a loss too many before a job is dead",
        "functions/40_finish/_judge_executions.sql",
        "h.lost_count + 1 >= h.max_lost",
        "h.lost_count >= h.max_lost",
        PGTAP,
    ),
    Mutant(
        "an attempt too many before a job is dead",
        "functions/40_finish/_judge_executions.sql",
        "h.attempt >= h.max_attempts",
        "h.attempt > h.max_attempts",
        PGTAP,
    ),
    Mutant(
        "a failure after a request to cancel is retried",
        "functions/40_finish/_judge_executions.sql",
        "            when h.cancel_requested_at is not null then 'cancelled'\n",
        "",
        PGTAP,
    ),
    Mutant(
        "the reaper takes workers that live",
        "functions/60_maintain/reap_workers.sql",
        "where e.lease_expires_at <= v_now and ",
        "where ",
        LOCKS,
    ),
    Mutant(
        "the reaper waits for jobs that others lock",
        "functions/60_maintain/reap_workers.sql",
        "for update of j skip locked",
        "for update of j",
        LOCKS,
    ),
    Mutant(
        "the reaper takes workers that claim",
        "functions/60_maintain/reap_workers.sql",
        "for update skip locked",
        "",
        CLAIM,
    ),
    Mutant(
        "the reaper forgets workers with jobs left",
        "functions/60_maintain/reap_workers.sql",
        "                where j.worker_id = e.id and j.state = 'running'",
        "            where false",
        LIFE,
    ),
    Mutant(
        "promotion locks nothing",
        "functions/60_maintain/promote_jobs.sql",
        "        for update skip locked\n",
        "",
        LIFE,
    ),
    Mutant(
        "promotion wakes nobody",
        "functions/60_maintain/promote_jobs.sql",
        "where l.id = any (v_lanes)",
        "where false",
        LIFE,
    ),
    Mutant(
        "a key is one for all queues",
        "functions/10_enqueue/_reserve_key.sql",
        "where ik.queue_id = p_queue_id and ik.key = p_key;",
        "where ik.key = p_key;",
        (*ENQUEUE, *PGTAP),
    ),
    Mutant(
        "two take over a used key",
        "functions/10_enqueue/_reserve_key.sql",
        "                    and ik.job_id = v_held.job_id\n",
        "",
        ENQUEUE,
    ),
    Mutant(
        "a replacement is refused when the job has ended",
        "functions/10_enqueue/_replace_job.sql",
        "            and (ik.expires_at is null or ik.expires_at > rota._now())\n",
        "",
        ENQUEUE,
    ),
    Mutant(
        "a running job is replaced",
        "functions/10_enqueue/_replace_job.sql",
        " and j.claimed_at is null;",
        ";",
        ENQUEUE,
    ),
    Mutant(
        "keys are taken in the order given",
        "functions/10_enqueue/_enqueue_keyed_jobs.sql",
        "order by g.idempotency_key, g.id",
        "order by g.id",
        LOCKS,
    ),
    Mutant(
        "jobs are replaced in the order of their keys",
        "functions/10_enqueue/_enqueue_keyed_jobs.sql",
        "if p_on_duplicate = 'replace' then",
        "if false then",
        LOCKS,
    ),
    Mutant(
        "an exchange locks in two orders",
        "functions/45_exchange/exchange.sql",
        "if completed_ids is not null and returned is not null then",
        "if false then",
        LOCKS,
    ),
    Mutant(
        "an exchange locks jobs before its worker",
        "functions/45_exchange/exchange.sql",
        "if max_jobs > 0 and num_nonnulls",
        "if false and num_nonnulls",
        LOCKS,
    ),
    Mutant(
        "a batch wakes nobody",
        "functions/10_enqueue/enqueue_jobs.sql",
        "perform rota._wake(v_queue);",
        "null;",
        LIFE,
    ),
    Mutant(
        "resuming wakes nobody",
        "functions/70_operate/resume_queue.sql",
        "perform rota._wake_queues(array[v_queue_id]);",
        "null;",
        LIFE,
    ),
    Mutant(
        "jitter lengthens a delay",
        "functions/00_core/_retry_delay.sql",
        "(1 - v_spread * random())",
        "(1 + v_spread * random())",
        PGTAP,
    ),
    Mutant(
        "retention is off by a day",
        "functions/60_maintain/ensure_partitions.sql",
        "rota._now() - s.retention",
        "rota._now() - s.retention + '1 day'",
        PGTAP,
    ),
    Mutant(
        "functions are left to PUBLIC",
        "grants.sql",
        "revoke all on all functions in schema rota",
        "revoke all on function rota.version",
        ROLES,
    ),
    Mutant(
        "workers may purge",
        "grants.sql",
        "    rota.purge_dead\nto rota_operator;",
        "    rota.purge_dead\nto rota_operator, rota_worker;",
        ROLES,
    ),
    Mutant(
        "a view is for producers too",
        "grants.sql",
        "to rota_operator, rota_observer;",
        "to rota_operator, rota_producer;",
        ROLES,
    ),
    Mutant(
        "a loss that kills is charged",
        "functions/40_finish/_bury_jobs.sql",
        "b.attempt - e.is_refunded::integer",
        "b.attempt",
        MODEL,
    ),
    Mutant(
        "a lease lasts an instant longer",
        "functions/60_maintain/reap_workers.sql",
        "e.lease_expires_at <= v_now",
        "e.lease_expires_at < v_now",
        MODEL,
    ),
    Mutant(
        "a key is free as soon as its job has ended",
        "functions/40_finish/_free_keys.sql",
        "p_now + coalesce(j.key_ttl, interval '0')",
        "p_now",
        MODEL,
    ),
    Mutant(
        "floors rise without waiting for the horizon",
        "functions/20_claim/_settle_positions.sql",
        "elsif pg_snapshot_xmin(pg_current_snapshot()) >= v_state.horizon then",
        "elsif v_state.horizon is not null then",
        MODEL,
    ),
    Mutant(
        "floors rise without waiting for the holders",
        "functions/20_claim/_settle_positions.sql",
        "        and not v_state.holders && rota._line_holders()\n",
        "",
        MODEL,
    ),
    Mutant(
        "handed back jobs come last",
        "functions/20_claim/_ready_lanes.sql",
        "s.lane_id > 0, random()",
        "s.lane_id < 0, random()",
        MODEL,
    ),
)


def failing(folder: str, tests: tuple[str, ...]) -> str | None:
    """Run the tests on that copy of `sql/`; returns the first that fails, if any."""
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-m", "not slow"),
            *("-x", "-q", "--tb=no", "-p", "no:cacheprovider"),
            *tests,
        ],
        cwd=CHECKOUT,
        # Who waits for a lock that never comes is found out soon.
        env=os.environ | {"ROTA_SQL_DIR": folder, "PGOPTIONS": "-c lock_timeout=10s"},
        capture_output=True,
        text=True,
        check=False,
    )
    for line in done.stdout.splitlines():
        if line.startswith(("FAILED ", "SUBFAILED", "ERROR ")):
            return line.partition("tests/")[2].partition(" - ")[0] or line
    if done.returncode != 0:
        raise SystemExit(f"pytest {' '.join(tests)}: {done.stdout}{done.stderr}")
    return None


def killer(mutant: Mutant) -> str | None:
    with tempfile.TemporaryDirectory(prefix="rota-mutant-") as folder:
        mutant.write(Path(folder))
        return failing(folder, mutant.tests)


def main(words: list[str]) -> int:
    chosen = [m for m in MUTANTS if all(word in m.name for word in words)]
    needed = dict.fromkeys(test for mutant in chosen for test in mutant.tests)
    if broken := failing(str(schema.source()), tuple(needed)):
        print(f"not even the whole SQL passes {broken}")
        return 1

    survivors = 0
    with ThreadPoolExecutor(2) as pool:
        for mutant, test in zip(chosen, pool.map(killer, chosen), strict=True):
            survivors += test is None
            print(f"{mutant.name:50} {test or 'SURVIVES'}", flush=True)
    print(f"{len(chosen)} mutants, {survivors} survived")
    return int(survivors > 0)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
