"""Faults of the server: crashed, out of disk, read-only, set up to interrupt."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from psycopg import sql

from faults.machine import Machine
from rota import schema
from waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from faults.conftest import NewTrial
    from faults.trial import Trial

AWAY = "database away"


@pytest.fixture
def trial(dsn: str, begin: NewTrial) -> Trial:
    return begin(dsn)


def install(dsn: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as session:
        schema.install(session)


def test_crashes_under_load(tmp_path: Path, begin: NewTrial) -> None:
    with Machine(tmp_path) as machine:
        install(machine.dsn)
        trial = begin(machine.dsn)
        for _ in range(2):
            trial.ready("--lease", "10")
        trial.load()
        for count in range(4 * trial.times):
            trial.pause(0.3, 1.0)
            machine.kill((signal.SIGKILL, signal.SIGQUIT)[count % 2])
            trial.pause(0.0, 0.5)
            machine.start()
            trial.injected()
            trial.probe()
        trial.conclude("server killed and restarted")


SMALL_DISK = Path(__file__).with_name("small_disk.py")
NAMESPACE = ("unshare", "--user", "--map-root-user", "--mount")


@contextlib.contextmanager
def small_disk(folder: Path) -> Iterator[tuple[str, Path]]:
    """Run a server on a disk of its own; yields its DSN and the disk's folder.

    It is started again when it ends, for as long as the block lasts.
    """
    disk = folder / "disk"
    disk.mkdir()
    with subprocess.Popen(
        [*NAMESPACE, sys.executable, str(SMALL_DISK), str(disk)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    ) as process:
        assert process.stdin and process.stdout and process.stderr
        if process.stdout.readline() != "ready\n":
            process.kill()
            pytest.skip(f"no disk can be mounted here: {process.stderr.read()}")
        inside = Path(f"/proc/{process.pid}/root{disk}")
        yield f"host={folder / 's'} user=postgres dbname=postgres", inside
        process.stdin.close()


def fill(disk: Path) -> None:
    """Leave nothing free on the disk."""
    with (disk / "filler").open("wb") as filler, contextlib.suppress(OSError):
        while True:
            filler.write(bytes(1 << 16))
            filler.flush()


def use_up(dsn: str) -> None:
    """Write more to the log than there is still room for in what it has allotted."""
    with pytest.raises(psycopg.OperationalError), psycopg.connect(dsn) as session:
        session.execute(
            "select pg_logical_emit_message(true, 'ballast', repeat('x', 1000000))"
            " from generate_series(1, 64)"
        )


def free(disk: Path) -> int:
    found = os.statvfs(disk)
    return found.f_bavail * found.f_frsize


def test_a_full_disk(tmp_path: Path, begin: NewTrial) -> None:
    with small_disk(tmp_path) as (dsn, disk):
        install(dsn)
        trial = begin(dsn)
        runner = trial.ready("--lease", "10")
        trial.load()
        for _ in range(2 * trial.times):
            trial.pause(0.5, 1.0)
            count = runner.output.count(AWAY)
            fill(disk)
            use_up(dsn)
            wait_until(lambda: runner.output.count(AWAY) > count)  # noqa: B023
            trial.pause(0.0, 2.0)
            assert free(disk) < 1 << 20
            (disk / "filler").unlink()
            trial.injected()
            trial.probe()
        trial.conclude("disk of the server full")


def alter_database(trial: Trial, **settings: str) -> None:
    for name, value in settings.items():
        trial.client.run(
            lambda c: c.execute(
                sql.SQL("alter database {} set {} = {}").format(
                    sql.Identifier(c.info.dbname),
                    sql.Identifier(name),  # noqa: B023 - called at once
                    sql.Literal(value),  # noqa: B023
                )
            )
        )


TIMEOUTS = {
    "statement_timeout": "2s",
    "lock_timeout": "100ms",
    "idle_session_timeout": "1s",
    "idle_in_transaction_session_timeout": "1s",
}


@pytest.mark.parametrize("name", [*TIMEOUTS, "transaction_timeout"])
def test_timeouts_of_an_administrator(trial: Trial, name: str) -> None:
    ((version,),) = trial.client.ask(
        "select current_setting('server_version_num')::integer"
    )
    if name == "transaction_timeout" and version < 170000:
        pytest.skip("this server has no transaction_timeout")
    alter_database(trial, **{name: TIMEOUTS.get(name, "1s")})
    trial.ready("--lease", "5")
    trial.load(50.0)
    trial.pause(4.0, 5.0)
    trial.injected()
    trial.probe()
    trial.conclude(f"{name} set by an administrator")


def test_a_read_only_server_at_the_start(trial: Trial) -> None:
    alter_database(trial, default_transaction_read_only="on")
    runner = trial.start()
    trial.injected()
    assert runner.exit_code() == 2
    (line,) = runner.output.splitlines()
    assert line.startswith("rota: ")
    assert "read-only" in line


def test_a_server_that_becomes_read_only(trial: Trial) -> None:
    runner = trial.ready("--lease", "5")
    trial.load(50.0)
    trial.probe()
    for _ in range(2 * trial.times):
        trial.pause(0.0, 0.5)
        count = runner.output.count(AWAY)
        alter_database(trial, default_transaction_read_only="on")
        trial.terminate(*(pid for pid, _ in trial.sessions()))
        wait_until(lambda: runner.output.count(AWAY) > count + 1)  # noqa: B023
        alter_database(trial, default_transaction_read_only="off")
        trial.injected()
        trial.probe()
    trial.conclude("server read-only for a while")


def lock_while_it_runs(
    trial: Trial, operator: psycopg.Connection[Any], kind: str
) -> int:
    """Lock the row of a job of that kind, of one that is not over before that."""
    found: list[int] = []

    def is_locked() -> bool:
        most = 2 if kind == "flaky" else 1
        found.append(trial.enqueue(kind, 1.0, max_attempts=most))
        trial.begun(found[-1])
        locked = operator.execute(
            "select from rota.job where id = %s and state = 'running' for update",
            [found[-1]],
        )
        return locked.fetchone() is not None

    wait_until(is_locked)
    return found[-1]


def test_a_row_lock_on_a_running_job(trial: Trial) -> None:
    for _ in range(2):
        trial.ready("--lease", "30")
    trial.load()
    beats: dict[int, set[object]] = {}

    def have_beaten() -> bool:
        other = trial.enqueue("plain", max_attempts=1, priority=5)
        trial.reaches(other, "completed")
        for worker, at in trial.client.ask("select id, heartbeat_at from rota.worker"):
            beats.setdefault(worker, set()).add(at)
        return all(len(times) > 3 for times in beats.values())

    with psycopg.connect(trial.dsn) as operator:
        jobs = [
            lock_while_it_runs(trial, operator, kind)
            for kind in ("plain", "thread", "posted", "flaky")
        ]
        wait_until(have_beaten)
        assert [trial.state(job) for job in jobs] == ["running"] * len(jobs)
    trial.injected(len(jobs))
    for job in jobs:
        trial.recovers(lambda: trial.state(job) == "completed")  # noqa: B023
    assert trial.client.ask(
        "select count(*) from rota.executions where outcome = 'lost'"
    ) == [(0,)]
    trial.conclude("an operator's row lock on a running job")
