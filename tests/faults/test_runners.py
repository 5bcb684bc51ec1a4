"""Faults of runners: killed, stopped, with handlers or clocks that are wrong."""

from __future__ import annotations

import contextlib
import os
import signal
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from faults.trial import LEASE_SECONDS, OPTIONS
from waiting import wait_until

if TYPE_CHECKING:
    from faults.conftest import NewTrial
    from faults.trial import Trial
    from runner_process import Runner


@pytest.fixture
def trial(dsn: str, begin: NewTrial) -> Trial:
    return begin(dsn)


def held(trial: Trial, runner: Runner) -> int:
    """Return how many jobs are held by workers that were such a process."""
    ((count,),) = trial.client.ask(
        "select count(*) from rota.job as j"
        " inner join rota.worker as w on w.id = j.worker_id where w.name = %(name)s",
        name=runner.log.stem,
    )
    return int(count)


def test_killed_runners(trial: Trial) -> None:
    running = [trial.ready() for _ in range(3)]
    trial.load()
    for _ in range(12 * trial.times):
        trial.pause(0.0, 0.5)
        victim = running.pop(trial.random.randrange(len(running)))
        victim.kill()
        trial.injected()
        running.append(trial.ready())
        trial.recovers(lambda: held(trial, victim) == 0)  # noqa: B023 - called at once
    trial.conclude("SIGKILL of a runner")


def children(runner: Runner) -> list[int]:
    pid = runner.process.pid
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(child) for child in text.split()]


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="asks Linux for pids")
def test_killed_processes_of_a_runner(trial: Trial) -> None:
    parent = trial.ready("--processes", "3")
    trial.load()
    for count in range(4 * trial.times):
        wait_until(lambda: len(children(parent)) == 3)
        wait_until(
            lambda: parent.output.count("registered as worker") >= 3 + count  # noqa: B023
        )
        trial.pause(0.0, 0.5)
        with contextlib.suppress(ProcessLookupError):
            os.kill(trial.random.choice(children(parent)), signal.SIGKILL)
        trial.injected()
        trial.recovers(
            lambda: parent.output.count("registered as worker") > 3 + count  # noqa: B023
        )
    trial.conclude("SIGKILL of a process under --processes")


def test_stopped_runners(trial: Trial) -> None:
    running = [trial.ready() for _ in range(2)]
    trial.load()
    for _ in range(4 * trial.times):
        # What ends while the zombie is stopped, it will say when others are at it.
        for kind in ("plain", "thread", "posted", "posted_async") * 2:
            trial.enqueue(kind, LEASE_SECONDS, **OPTIONS[kind])
        trial.pause(0.1, 0.4)
        zombie = trial.random.choice(running)
        lost_count = zombie.output.count("lease of worker")
        worker_count = zombie.output.count("registered as worker")
        zombie.signal(signal.SIGSTOP)
        wait_until(lambda: not is_leased(trial, zombie))  # noqa: B023 - called at once
        trial.pause(0.0, 0.5)
        zombie.signal(signal.SIGCONT)
        trial.injected()
        trial.recovers(
            lambda: zombie.output.count("registered as worker") > worker_count  # noqa: B023
        )
        assert zombie.output.count("lease of worker") > lost_count
    trial.conclude("SIGSTOP beyond the lease, then SIGCONT", warnings=200)


def is_leased(trial: Trial, runner: Runner) -> bool:
    return bool(
        trial.client.ask(
            "select from rota.worker as w"
            " where w.name = %(name)s and w.lost_at is null and w.ended_at is null",
            name=runner.log.stem,
        )
    )


def test_slow_and_hung_handlers(trial: Trial) -> None:
    running = [trial.ready() for _ in range(2)]
    trial.load(50.0)
    for _ in range(trial.times):
        stuck = [
            trial.enqueue(kind, max_attempts=1, timeout=timedelta(seconds=0.5))
            for kind in ("stuck", "stuck", "stuck_async", "stuck_async")
        ]
        trial.injected(len(stuck))
        trial.expected |= dict.fromkeys(stuck, "dead")
        trial.probe()
        for job in stuck:
            trial.reaches(job, "dead")
        # What hangs keeps its slot for ever.
        for runner in running:
            runner.signal(signal.SIGTERM)
        assert [runner.exit_code() for runner in running] == [0, 0]
        running = [trial.ready() for _ in range(2)]
    blocking = [trial.enqueue("blocking", 4.0, max_attempts=1) for _ in range(2)]
    trial.injected(len(blocking))
    for job in blocking:
        trial.recovers(lambda: trial.state(job) == "completed")  # noqa: B023
    trial.conclude("handlers that hang, or block the event loop", warnings=100)


@pytest.fixture
def faketime() -> str:
    """The library that shifts the clock of a process, in front of all others."""
    module = pytest.importorskip("libfaketime", exc_type=ImportError)
    (path,) = Path(module.__file__).parent.rglob("libfaketime.so*")
    return str(path)


@pytest.mark.parametrize("shift", ["+1h", "-1h"])
def test_a_clock_that_is_wrong(trial: Trial, faketime: str, shift: str) -> None:
    trial.ready(
        *("--lease", "600"),
        environment={
            "LD_PRELOAD": faketime,
            "FAKETIME": shift,
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "DONT_FAKE_MONOTONIC": "1",
        },
    )
    trial.load(30.0)
    trial.injected()
    jobs = [
        trial.enqueue("plain", delay=timedelta(seconds=seconds), max_attempts=1)
        for seconds in range(1, 6)
    ]
    for job in jobs:
        trial.reaches(job, "completed")
        ((late,),) = trial.client.ask(
            "select extract(epoch from claimed_at - run_at)::float"
            " from rota.jobs where id = %(job)s",
            job=job,
        )
        assert late >= 0
        trial.recovered.append(late)
    assert "lease of worker" not in trial.runners[0].output
    trial.conclude(f"the clock of the runner is off by {shift}")
    assert trial.client.ask(
        "select count(*) from rota.executions where outcome = 'lost'"
    ) == [(0,)]
