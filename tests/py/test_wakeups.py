"""No wake-up is lost between an enqueuer that looks and a runner that lies down."""

from __future__ import annotations

import asyncio
import random
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING

import psycopg

import rota
from rota.worker import Worker
from sessions import value
from waiting import PATIENCE, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pytest

    from conftest import Connect
    from rota.job import Job

# A runner that misses a wake-up looks by itself after this long; a job that waited for
# that has failed the test by then.
POLL_SECONDS = 10 * PATIENCE
# How many runners say that they sleep.
MARKS = """
    select count(*)
    from pg_locks as l
    where l.locktype = 'advisory'
        and l.classid = rota._lock_class()::oid
        and l.objid = 0
        and l.database = (
            select d.oid from pg_database as d where d.datname = current_database()
        )
    """


class Handled:
    """The ids of the jobs that were run."""

    def __init__(self) -> None:
        self._ids: set[int] = set()
        self._changed = threading.Condition()

    def add(self, job: int) -> None:
        with self._changed:
            self._ids.add(job)
            self._changed.notify_all()

    def wait_for(self, job: int) -> bool:
        with self._changed:
            return self._changed.wait_for(lambda: job in self._ids, PATIENCE)


@contextmanager
def sleeper(dsn: str, handled: Handled, concurrency: int = 1) -> Iterator[None]:
    """Run a worker that is idle most of the time and hardly ever polls."""
    app = rota.App()

    @app.handler("a")
    async def handle(job: Job) -> None:
        handled.add(job.id)

    with running(app, dsn, concurrency):
        yield


@contextmanager
def running(app: rota.App, dsn: str, concurrency: int = 1) -> Iterator[None]:
    """Run a worker in a thread.

    With one slot, a job makes it busy: it lies down anew after each. It beats and
    maintains as rarely as it polls.
    """
    worker = Worker(
        app,
        dsn,
        concurrency=concurrency,
        poll=timedelta(seconds=POLL_SECONDS),
        lease=timedelta(seconds=3 * POLL_SECONDS),
    )
    loops: list[asyncio.AbstractEventLoop] = []

    async def run() -> None:
        loops.append(asyncio.get_running_loop())
        await worker.run()

    thread = threading.Thread(target=lambda: asyncio.run(run()))
    thread.start()
    try:
        yield
    finally:
        wait_until(lambda: loops)
        loops[0].call_soon_threadsafe(worker.drain)
        thread.join()


def test_no_job_waits_for_the_poll_while_a_runner_sleeps(
    dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rota.worker.MAINTENANCE_SECONDS", POLL_SECONDS)
    handled = Handled()

    def produce(seed: int) -> list[int]:
        dice = random.Random(seed)
        missed: list[int] = []
        with psycopg.connect(dsn) as session:
            for _ in range(100):
                row = session.execute("select rota.enqueue('a')").fetchone()
                assert row is not None
                # Long enough for the runner to have looked and lain down meanwhile.
                if dice.random() < 0.4:
                    threading.Event().wait(dice.random() * 0.06)
                session.commit()
                if dice.random() < 0.8 and not handled.wait_for(row[0]):
                    missed.append(row[0])
                    break
        return missed

    with sleeper(dsn, handled), ThreadPoolExecutor(3) as producers:
        assert [job for jobs in producers.map(produce, range(3)) for job in jobs] == []


def test_a_busy_runner_is_not_marked_as_sleeping(
    dsn: str, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once it has heard of jobs that it cannot run, nobody need notify it any more."""
    monkeypatch.setattr("rota.worker.MAINTENANCE_SECONDS", POLL_SECONDS)
    session = connect()
    may_end = threading.Event()
    app = rota.App()

    @app.handler("hold")
    def hold(_job: Job) -> bool:
        return may_end.wait(PATIENCE)

    def is_unmarked() -> bool:
        session.execute("select rota.enqueue('hold')")
        return bool(value(session, MARKS) == 0)

    with running(app, dsn):
        wait_until(lambda: value(session, MARKS) == 1)
        wait_until(is_unmarked)
        may_end.set()
        wait_until(lambda: value(session, MARKS) == 1)


def test_a_runner_to_whom_jobs_keep_coming_need_not_be_woken(
    dsn: str, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has slots free all the time, and sleeps once no more come."""
    monkeypatch.setattr("rota.worker.MAINTENANCE_SECONDS", POLL_SECONDS)
    # However slow the machine is.
    monkeypatch.setattr("rota.pace.BRISK_RATE", 1.0)
    monkeypatch.setattr("rota.pace.CALM_RATE", 0.01)
    session = connect()
    handled = Handled()

    def enqueued() -> int:
        return int(value(session, "select rota.enqueue('a')"))

    def is_unmarked() -> bool:
        assert handled.wait_for(enqueued())
        return bool(value(session, MARKS) == 0)

    with sleeper(dsn, handled, concurrency=10):
        for _ in range(2):
            wait_until(lambda: value(session, MARKS) == 1)
            wait_until(is_unmarked)
            assert handled.wait_for(enqueued())
        wait_until(lambda: value(session, MARKS) == 1)
