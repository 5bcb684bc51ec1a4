"""Runners behind a pooler that lends them a connection for one transaction each."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from datetime import timedelta
from typing import TYPE_CHECKING

import psycopg
import pytest

import rota
from pooler import UnavailableError, pooler
from rota.connections import reason
from runner_process import Bench
from sessions import column, enqueue_many, rows, value
from waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from conftest import Connect

SIZE = 4
COUNT = 2000


@contextlib.contextmanager
def pooled(dsn: str, *, forgets: bool) -> Iterator[str]:
    """The DSN through a pooler; without one skip, or fail where it is required."""
    with contextlib.ExitStack() as stack:
        try:
            through = stack.enter_context(pooler(dsn, SIZE, forgets=forgets))
        except UnavailableError as error:
            if os.environ.get("ROTA_TEST_POOLER") == "required":
                raise
            pytest.skip(str(error))
        yield through


@pytest.fixture
def through(dsn: str) -> Iterator[str]:
    with pooled(dsn, forgets=False) as made:
        yield made


@pytest.mark.parametrize("forgets", [False, True])
def test_twenty_runners_share_four_connections(
    dsn: str, connect: Connect, caplog: pytest.LogCaptureFixture, forgets: bool
) -> None:
    session = connect()
    session.execute("create table effect (job bigint)")
    enqueue_many(session, COUNT)
    app = rota.App()

    @app.handler("work")
    async def work(job: rota.Job) -> object:
        if job.id % 10 == 0:
            async with job.transaction() as connection:
                await connection.execute("insert into effect values (%s)", [job.id])
        return job.payload

    def wait_completed() -> None:
        count = "select count(*) from rota.jobs where state = 'completed'"
        wait_until(lambda: value(session, count) == COUNT)

    async def serve(through: str) -> None:
        lease = timedelta(minutes=10)
        workers = [
            rota.Worker(app, through, lease=lease, is_listening=False)
            for _ in range(20)
        ]
        runs = [asyncio.create_task(worker.run()) for worker in workers]
        await asyncio.to_thread(wait_completed)
        for worker in workers:
            worker.drain()
        assert await asyncio.gather(*runs) == [0] * 20

    with pooled(dsn, forgets=forgets) as through:
        asyncio.run(serve(through))
    # What was fetched ahead and could not be begun at once goes back.
    assert rows(
        session,
        "select e.outcome, count(*), count(distinct e.job_id)"
        " from rota.executions as e where e.outcome <> 'released' group by 1",
    ) == [("completed", COUNT, COUNT)]
    assert value(session, "select count(*) from effect") == COUNT // 10
    workers = "select count(*) from rota.worker_status where state = 'ended'"
    assert value(session, workers) == 20
    assert not [r for r in caplog.records if r.levelname in {"WARNING", "ERROR"}]


def test_a_runner_behind_a_pooler_does_all_it_does_otherwise(
    through: str, tmp_path: Path, connect: Connect
) -> None:
    direct = connect()
    direct.execute("create table effect (job bigint)")
    with (
        psycopg.connect(through, autocommit=True, prepare_threshold=None) as session,
        contextlib.closing(Bench(through, tmp_path, session)) as bench,
    ):
        runner = bench.ready("--no-listen")
        done = [
            bench.enqueue(kind, **options)
            for kind in ("echo", "pid", "note", "effect")
            for options in ({}, {"delay": timedelta(seconds=0.3), "priority": 3})
        ]
        dead = bench.enqueue("fail", max_attempts=3)
        late = bench.enqueue("hold", timeout=timedelta(seconds=0.3), max_attempts=1)
        for kind in ("hold", "hold_thread"):
            cancelled = bench.enqueue(kind)
            bench.begun(cancelled)
            session.execute("select rota.cancel_jobs(array[%s::bigint])", [cancelled])
            bench.reaches(cancelled, "cancelled")
        for job in done:
            bench.reaches(job, "completed")
        bench.reaches(dead, "dead")
        bench.reaches(late, "dead")
        assert bench.outcomes(dead) == ["failed"] * 3
        assert bench.outcomes(late) == ["timed_out"]
        assert column(session, "select job from effect order by 1") == done[-2:]
        handed_back = bench.enqueue("hold_deaf_thread")
        bench.begun(handed_back)
        runner.signal(signal.SIGTERM)
        runner.wait_for("SIGTERM")
        runner.signal(signal.SIGTERM)
        assert runner.exit_code() == 128 + signal.SIGTERM
        assert bench.job(handed_back)["state"] == "queued"
        assert "no wake-ups: looking for jobs every 0.4 seconds" in runner.output
        assert "WARNING" not in runner.output
    # What it said in the pooler's sessions holds nothing up after it.
    left = (
        "select mode from pg_locks where locktype = 'advisory' and database ="
        " (select oid from pg_database where datname = current_database())"
    )
    wait_until(lambda: not column(direct, left))


def test_wake_ups_may_come_past_the_pooler(
    dsn: str, through: str, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With polls, beats and maintenance an hour apart, only they can be in time."""
    monkeypatch.setattr("rota.worker.MAINTENANCE_SECONDS", 3600)
    session = connect()
    app = rota.App()

    @app.handler("work")
    async def work(_job: rota.Job) -> None:
        pass

    def see_work_done() -> None:
        asleep = (
            "select count(*) from pg_locks where locktype = 'advisory'"
            " and classid = rota._lock_class()::oid and objid = 0 and database ="
            " (select oid from pg_database where datname = current_database())"
        )
        for _ in range(5):
            wait_until(lambda: value(session, asleep) == 1)
            job = rota.enqueue(session, "work")
            state = f"select state from rota.jobs where id = {job}"
            wait_until(lambda: value(session, state) == "completed")  # noqa: B023

    async def serve() -> None:
        hour = timedelta(hours=1)
        worker = rota.Worker(app, through, listen_dsn=dsn, poll=hour, lease=3 * hour)
        run = asyncio.create_task(worker.run())
        await asyncio.to_thread(see_work_done)
        worker.drain()
        assert await run == 0

    asyncio.run(serve())
    listeners = (
        "select query from pg_stat_activity where query like 'listen%'"
        " and datname = current_database()"
    )
    wait_until(lambda: not column(session, listeners))


def test_a_pooler_that_was_not_expected_is_named() -> None:
    error = psycopg.errors.InvalidSqlStatementName()
    assert "a pooler in transaction mode, it seems: use --no-listen" in reason(error)
