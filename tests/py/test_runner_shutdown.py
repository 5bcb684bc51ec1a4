"""Runners that are told to stop, at every moment, and ones that just die."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
from typing import TYPE_CHECKING

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from runner_process import Bench
from waiting import PATIENCE, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from conftest import Connect


COMMIT_LOCK = 1
HOLD_COMMIT = f"""
create function public.hold_commit() returns trigger language plpgsql as $$
begin
    perform pg_advisory_xact_lock({COMMIT_LOCK});
    return null;
end
$$;
create constraint trigger hold_commit after update on rota.job
deferrable initially deferred for each row execute function public.hold_commit();
"""


@pytest.fixture
def bench(dsn: str, tmp_path: Path, connect: Connect) -> Iterator[Bench]:
    with contextlib.closing(Bench(dsn, tmp_path, connect())) as made:
        yield made


def test_an_idle_runner_ends_at_once(bench: Bench) -> None:
    runner = bench.ready()
    runner.signal(signal.SIGTERM)
    assert runner.exit_code() == 0
    (state,) = bench.connection.execute("select state from rota.worker_status")
    assert state == ("ended",)


def test_a_runner_that_is_connecting_ends_at_once(bench: Bench, tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(str(tmp_path / ".s.PGSQL.5432"))
        silent.listen()
        runner = bench.start(dsn=f"host={tmp_path} user=postgres dbname=postgres")
        silent.settimeout(PATIENCE)
        caller, _ = silent.accept()
        with caller:
            runner.signal(signal.SIGTERM)
            assert runner.exit_code() == 0


def test_what_runs_is_finished_and_nothing_else_is_begun(bench: Bench) -> None:
    runner = bench.ready("--concurrency", "4", "--grace", "600")
    jobs = [bench.enqueue(kind) for kind in ["hold", "hold_thread"] * 5]
    for job in jobs[:4]:
        bench.begun(job)
    runner.signal(signal.SIGTERM)
    runner.wait_for("SIGTERM")
    bench.go()
    assert runner.exit_code() == 0
    assert [bench.job(job)["state"] for job in jobs[:4]] == ["completed"] * 4
    for found in map(bench.job, jobs[4:]):
        assert (found["state"], found["execution"]) == ("queued", 0)


@pytest.mark.parametrize(
    "kind", ["hold", "hold_deaf", "hold_thread", "hold_deaf_thread"]
)
def test_what_outlasts_the_grace_time_is_handed_back(bench: Bench, kind: str) -> None:
    runner = bench.ready("--grace", "0.3")
    job = bench.enqueue(kind)
    bench.begun(job)
    runner.signal(signal.SIGTERM)
    assert runner.exit_code() == 3
    found = bench.job(job)
    assert (found["state"], found["attempt"]) == ("queued", 0)
    assert bench.outcomes(job) == ["released"]
    # Not after the lease: at once.
    bench.go()
    bench.ready()
    bench.reaches(job, "completed")


def test_a_second_signal_ends_it_now(bench: Bench) -> None:
    runner = bench.ready("--grace", "600")
    jobs = [bench.enqueue("hold"), bench.enqueue("hold_deaf_thread")]
    for job in jobs:
        bench.begun(job)
    runner.signal(signal.SIGINT)
    runner.wait_for("SIGINT")
    runner.signal(signal.SIGINT)
    assert runner.exit_code() == 128 + signal.SIGINT
    assert [bench.job(job)["state"] for job in jobs] == ["queued"] * 2
    assert "Traceback" not in runner.output


def test_what_is_claimed_while_the_signal_comes_is_handed_back_unrun(
    bench: Bench, connect: Connect
) -> None:
    # Its commit, and so its answer, is held up by what no lock_timeout of rota's ends.
    bench.connection.execute(HOLD_COMMIT)
    blocker = connect()
    blocker.execute("select pg_advisory_lock(%s)", [COMMIT_LOCK])
    runner = bench.ready()
    job = bench.enqueue("echo")
    wait_until(
        lambda: bench.connection.execute(
            "select 1 from pg_locks where locktype = 'advisory' and not granted"
            " and objid = %s and database ="
            " (select oid from pg_database where datname = current_database())",
            [COMMIT_LOCK],
        ).fetchone()
    )
    runner.signal(signal.SIGTERM)
    runner.wait_for("SIGTERM")
    blocker.close()
    assert runner.exit_code() == 0
    found = bench.job(job)
    assert (found["state"], found["attempt"], found["execution"]) == ("queued", 0, 1)


def test_results_are_delivered_while_it_drains_without_a_connection(
    bench: Bench, empty_dsn: str
) -> None:
    runner = bench.ready("--grace", "600")
    jobs = [bench.enqueue("hold"), bench.enqueue("hold_thread")]
    for job in jobs:
        bench.begun(job)
    name = sql.Identifier(str(conninfo_to_dict(bench.dsn)["dbname"]))
    allow = sql.SQL("alter database {} allow_connections {}")
    with psycopg.connect(empty_dsn, autocommit=True) as admin:
        admin.execute(allow.format(name, sql.SQL("false")))
        wait_until(lambda: bench.terminate() == 0)
        runner.wait_for("database away")
        runner.signal(signal.SIGTERM)
        runner.wait_for("SIGTERM")
        bench.go()
        admin.execute(allow.format(name, sql.SQL("true")))
    assert runner.exit_code() == 0
    for job in jobs:
        assert bench.job(job)["state"] == "completed"
        assert bench.outcomes(job) == ["completed"]


def test_an_idle_runner_without_a_connection_ends_at_once(bench: Bench) -> None:
    runner = bench.start(dsn=f"host={bench.folder} user=postgres dbname=postgres")
    runner.wait_for("database away")
    runner.signal(signal.SIGTERM)
    assert runner.exit_code() == 0


def test_jobs_of_a_killed_runner_come_back_once_and_uncharged(bench: Bench) -> None:
    runner = bench.ready()
    jobs = [bench.enqueue(kind) for kind in ["hold", "hold_thread"] * 3]
    for job in jobs:
        bench.begun(job)
    runner.signal(signal.SIGKILL)
    runner.exit_code()
    bench.reaps(jobs[0])
    bench.go()
    bench.ready()
    for job in jobs:
        found = bench.reaches(job, "completed")
        assert (found["attempt"], found["execution"]) == (1, 2)
        assert bench.outcomes(job) == ["lost", "completed"]


def test_restarts_leave_all_attempts(bench: Bench) -> None:
    job = bench.enqueue("hold", max_attempts=3)
    for execution in (1, 2, 3):
        runner = bench.ready("--grace", "0")
        bench.begun(job, execution)
        runner.signal(signal.SIGTERM)
        assert runner.exit_code() == 3
        assert bench.job(job)["attempt"] == 0
    runner = bench.ready()
    bench.begun(job, 4)
    runner.signal(signal.SIGKILL)
    runner.exit_code()
    bench.reaps(job)
    bench.connection.execute("update rota.job set kind = 'fail'")
    bench.ready()
    found = bench.reaches(job, "dead")
    assert (found["attempt"], found["reason"]) == (3, "attempts_exhausted")
    assert bench.outcomes(job) == ["released"] * 3 + ["lost"] + ["failed"] * 3


def test_a_job_that_kills_its_process_ends_dead(bench: Bench) -> None:
    bench.connection.execute("select rota.alter_queue('default', max_lost => 2)")
    poison = bench.enqueue("die")
    others = [bench.enqueue("echo") for _ in range(50)]
    bench.start("--processes", "2", "--concurrency", "1")
    for execution in (1, 2):
        bench.begun(poison, execution)
        bench.reaps(poison)
    found = bench.reaches(poison, "dead")
    assert (found["reason"], found["lost_count"]) == ("worker_lost", 2)
    for job in others:
        bench.reaches(job, "completed")


def test_processes_are_started_anew_and_stopped_together(bench: Bench) -> None:
    parent = bench.start("--processes", "2")

    def pids() -> set[int]:
        """Return the processes that share out some jobs, when there are two."""
        jobs = [bench.enqueue("pid") for _ in range(20)]
        found = {bench.reaches(job, "completed")["result"] for job in jobs}
        return found if len(found) == 2 else set()

    first = wait_until(pids)
    assert parent.process.pid not in first
    os.kill(min(first), signal.SIGKILL)
    second = wait_until(pids)
    assert len(first & second) == 1
    parent.signal(signal.SIGTERM)
    assert parent.exit_code() == 0
    assert bench.connection.execute(
        "select count(*) from rota.worker_status where state = 'ended'"
    ).fetchone() == (2,)


def test_processes_end_when_their_parent_is_killed(bench: Bench) -> None:
    parent = bench.start("--processes", "2")
    alive = "select count(*) from rota.worker_status where state = 'alive'"
    wait_until(lambda: bench.connection.execute(alive).fetchone() == (2,))
    parent.process.kill()
    ended = "select count(*) from rota.worker_status where state = 'ended'"
    wait_until(lambda: bench.connection.execute(ended).fetchone() == (2,))
