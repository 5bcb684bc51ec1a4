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

from rota import scripts

CHECKOUT = Path(__file__).resolve().parents[1]
CLAIM = ("tests/py/test_claim_race.py",)
ENQUEUE = ("tests/py/test_enqueue_race.py",)
FLOORS = ("tests/py/test_floors.py",)
LIFE = ("tests/py/test_lifecycle_race.py",)
LOCKS = ("tests/py/test_lock_order.py",)
PLANS = ("tests/py/test_claim_plan.py",)
ROLES = ("tests/py/test_roles.py",)
PGTAP = ("tests/sql",)
UPGRADE = ("tests/py/test_upgrade.py",)
STEPS = ("tests/py/test_upgrade_steps.py",)
EXTENSION = ("tests/py/test_extension.py",)


@dataclass(frozen=True, slots=True)
class Mutant:
    name: str
    path: str
    old: str
    new: str
    tests: tuple[str, ...]

    def write(self, folder: Path) -> None:
        """Copy `sql/` into the folder, broken."""
        shutil.copytree(scripts.source(), folder, dirs_exist_ok=True)
        path = folder / self.path
        text = path.read_text(encoding="utf-8")
        if text.count(self.old) != 1:
            raise SystemExit(f"{self.name}: not once in {self.path}: {self.old!r}")
        path.write_text(text.replace(self.old, self.new), encoding="utf-8")


MUTANTS = (
    Mutant(
        "claim waits for rows that others lock",
        "functions/20_claim/_lock_ready_jobs.sql",
        "for update skip locked",
        "for update",
        CLAIM,
    ),
    Mutant(
        "claim locks nothing before it updates",
        "functions/20_claim/_lock_ready_jobs.sql",
        "        for update skip locked\n",
        "",
        CLAIM,
    ),
    Mutant(
        "claim without a limit",
        "functions/20_claim/_lock_ready_jobs.sql",
        "        limit p_max_jobs\n",
        "",
        CLAIM,
    ),
    Mutant(
        "claim from the end of the lane",
        "functions/20_claim/_lock_ready_jobs.sql",
        "order by c.position\n        limit",
        "order by c.position desc limit",
        CLAIM,
    ),
    Mutant(
        "claim does not count the execution",
        "functions/20_claim/_claim.sql",
        "execution = j.execution + 1",
        "execution = greatest(j.execution, 1)",
        LIFE,
    ),
    Mutant(
        "claim charges twice",
        "functions/20_claim/_claim.sql",
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
        "a settled backlog moves no floor",
        "functions/20_claim/_raise_floors.sql",
        "        if v_lane.first_position is null\n"
        "            or least(v_lane.first_position, p_state.settled)"
        " < v_floor + v_enough\n"
        "        then\n",
        "        if true then\n",
        FLOORS,
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
        "functions/40_finish/_complete.sql",
        "            and j.execution = g.execution\n",
        "",
        LIFE,
    ),
    Mutant(
        "complete takes a job that nobody runs",
        "functions/40_finish/_complete.sql",
        "            and j.claimed_at is not null\n",
        "",
        LIFE,
    ),
    Mutant(
        "complete locks in the order given",
        "functions/40_finish/_complete.sql",
        "        order by g.id\n",
        "",
        LOCKS,
    ),
    Mutant(
        "fail is not fenced by execution",
        "functions/40_finish/_judge_executions.sql",
        "            and j.execution = g.token\n",
        "",
        LIFE,
    ),
    Mutant(
        "fail takes a job that nobody runs",
        "functions/40_finish/_judge_executions.sql",
        "            and j.claimed_at is not null\n",
        "",
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
        "v_max_jobs > 0 and num_nonnulls",
        "false and num_nonnulls",
        LOCKS,
    ),
    Mutant(
        "a batch wakes nobody",
        "functions/10_enqueue/enqueue_jobs.sql",
        "perform rota._wake_queues(array[v_queue.id]);",
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
        "revokes.sql",
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
        "upgrade without a column of the new tables",
        "migrations/0.2.0.sql",
        "alter table rota.worker add column version text;",
        "",
        UPGRADE,
    ),
    Mutant(
        "upgrade keeps functions that are no more",
        "scripts/remove.sql",
        "execute format('drop function %s', v_function);",
        "null;",
        STEPS,
    ),
    Mutant(
        "upgrade drops functions under those who call them",
        "scripts/leftovers.sql",
        "p.proname !~ '^_' and exists",
        "true or exists",
        STEPS,
    ),
    Mutant(
        "upgrade does not wait for calls to end",
        "scripts/wait.sql",
        "while clock_timestamp() < v_limit and exists",
        "while false and exists",
        STEPS,
    ),
    Mutant(
        "upgrade forgets grants to other roles",
        "scripts/own_grants.sql",
        "where\n            (g.kind",
        "where\n            false and (g.kind",
        STEPS,
    ),
    Mutant(
        "upgrade waits for a table as long as it takes",
        "scripts/upgrade.sql",
        "set local lock_timeout = '500ms';",
        "set local lock_timeout = 0;",
        STEPS,
    ),
    Mutant(
        "upgrade makes new things its own",
        "scripts/upgrade.sql",
        "perform set_config('role', v_owner, true);",
        "null;",
        STEPS,
    ),
    Mutant(
        "upgrade leaves old rows unchecked",
        "scripts/validate.sql",
        "and not c.convalidated",
        "and false",
        STEPS,
    ),
    Mutant(
        "upgrade from whatever version there is",
        "scripts/upgrade.sql",
        "elsif rota.version() <> '@FROM@' then",
        "elsif false then",
        STEPS,
    ),
    Mutant(
        "upgrade opens new functions to everybody",
        "revokes.sql",
        "revoke all on all functions in schema rota from public;",
        "",
        STEPS,
    ),
    Mutant(
        "extension whose rows are not dumped",
        "scripts/configuration.sql",
        "c.relkind in ('r', 'S')",
        "c.relkind in ('r')",
        EXTENSION,
    ),
    Mutant(
        "extension whose first rows are in the way of a dump's",
        "scripts/restore.sql",
        "delete from rota.retry_policy as p",
        "delete from rota.retry_policy as p using rota.job as j",
        EXTENSION,
    ),
    Mutant(
        "extension over what is there",
        "scripts/extension.sql",
        "raise exception 'schema rota already exists, and is not empty'",
        "raise warning 'schema rota already exists, and is not empty'",
        EXTENSION,
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
    if broken := failing(str(scripts.source()), tuple(needed)):
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
