"""A primary that dies under load, and its standby that takes over."""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import threading
import time
from collections import Counter
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

import rota
from cluster import Cluster, cluster
from rota import schema
from rota.processes import EXIT_UNUSABLE
from runner_process import Bench
from sessions import rows, value
from waiting import PATIENCE, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HOUR = timedelta(hours=1)


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[Cluster]:
    with cluster(tmp_path / "nodes") as made:
        with made.primary.connect() as session:
            schema.install(session)
            # No unique key: one written twice is to be seen, not refused.
            session.execute("create table effect (job bigint)")
            session.execute(
                "select rota.create_retry_policy('soon', 'fixed', base => '0.2 s')"
            )
        yield made


@pytest.fixture
def bench(nodes: Cluster, tmp_path: Path) -> Iterator[Bench]:
    with (
        nodes.primary.connect() as session,
        contextlib.closing(Bench(nodes.dsn, tmp_path, session)) as made,
    ):
        yield made


class Enqueuer(threading.Thread):
    """Enqueues one job after the other, each until the database acknowledges it.

    acknowledged: when that was, by id.
    """

    def __init__(self, dsn: str, folder: Path, name: str) -> None:
        super().__init__(name=name, daemon=True)
        self._dsn = dsn
        self._payload = {"folder": str(folder)}
        self._is_over = threading.Event()
        self.acknowledged: dict[int, float] = {}

    def end(self) -> None:
        self._is_over.set()
        self.join(PATIENCE)
        assert not self.is_alive()

    def run(self) -> None:
        kinds = itertools.cycle(["note", "effect"])
        keys = (f"{self.name} {number}" for number in itertools.count())
        with contextlib.ExitStack() as stack:
            session = None
            kind, key = next(kinds), next(keys)
            while not self._is_over.wait(0.005):
                try:
                    session = session or stack.enter_context(
                        psycopg.connect(self._dsn, autocommit=True)
                    )
                    job = self._enqueue(session, kind, key)
                except psycopg.OperationalError:
                    session = None
                    continue
                self.acknowledged[job] = time.monotonic()
                kind, key = next(kinds), next(keys)

    def _enqueue(self, session: psycopg.Connection[Any], kind: str, key: str) -> int:
        return rota.enqueue(
            session,
            kind,
            self._payload,
            idempotency_key=key,
            key_ttl=HOUR,
            retry_policy="soon",
        )


def notes(session: psycopg.Connection[Any], folder: Path, count: int) -> list[int]:
    jobs = [rota.NewJob(kind="note", payload={"folder": str(folder)})] * count
    return [job.id for job in rota.enqueue_jobs(session, jobs)]


def test_no_acknowledged_job_is_lost_with_its_primary(
    nodes: Cluster, bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    runners = [bench.start() for _ in range(2)]
    for runner in runners:
        runner.wait_for("registered as worker")
    acknowledged = set(notes(bench.connection, bench.folder, 1500))
    held = bench.enqueue("hold")
    bench.begun(held)
    enqueuers = [Enqueuer(nodes.dsn, bench.folder, f"enqueuer {n}") for n in range(3)]
    for enqueuer in enqueuers:
        enqueuer.start()
    floor = "select max(floor) from rota.lane"
    wait_until(lambda: value(bench.connection, floor) > 0)
    delayed = bench.enqueue("note", delay=timedelta(seconds=2))

    # The last ones just before the end, for them to be unclaimed then.
    last = notes(bench.connection, bench.folder, 500)
    nodes.primary.kill()
    killed, killed_at = time.monotonic(), time.time()
    nodes.promote()
    promoted = time.monotonic()

    with nodes.standby.connect() as session:
        before = [job for e in enqueuers for job in [*e.acknowledged]]
        acknowledged |= {*last, *before, held, delayed}
        known = "select count(*) from rota.jobs where id = any (%(jobs)s)"
        open_ = f"{known} and state <> 'completed'"
        assert value(session, floor) > 0
        assert value(session, open_, jobs=[*acknowledged]) > 0

        def is_back(enqueuer: Enqueuer) -> bool:
            times = [*enqueuer.acknowledged.values()]
            return sum(at > promoted for at in times) >= 20

        for enqueuer in enqueuers:
            wait_until(lambda: is_back(enqueuer))  # noqa: B023 - called at once
        for enqueuer in enqueuers:
            enqueuer.end()
            acknowledged |= enqueuer.acknowledged.keys()
        bench.go()
        wait_until(lambda: value(session, open_, jobs=[*acknowledged]) == 0)

        assert value(session, known, jobs=[*acknowledged]) == len(acknowledged)
        completed = "from rota.executions where outcome = 'completed'"
        twice = f"select job_id {completed} group by 1 having count(*) > 1"
        assert rows(session, twice) == []
        keys = "from rota.jobs where idempotency_key is not null"
        per_key = f"select idempotency_key {keys} group by 1 having count(*) > 1"
        assert rows(session, per_key) == []
        effects = Counter(job for (job,) in rows(session, "select job from effect"))
        done = "select id from rota.jobs where kind = 'effect' and state = 'completed'"
        assert effects == Counter(job for (job,) in rows(session, done))
        # No token was handed out by both.
        begun = Counter((bench.folder / "notes").read_text().splitlines())
        assert max(begun.values()) == 1
        bench.connection = session
        found = bench.job(held)
        assert (found["attempt"], found["execution"]) == (1, 1)

        for runner in runners:
            runner.signal(signal.SIGTERM)
        assert [runner.exit_code() for runner in runners] == [0, 0]
        first = value(
            session,
            "select extract(epoch from min(finished_at)) - %(at)s from rota.jobs"
            " where state = 'completed' and finished_at > to_timestamp(%(at)s)",
            at=killed_at,
        )
    again = min(
        at for e in enqueuers for at in e.acknowledged.values() if at > promoted
    )
    with capsys.disabled():
        print(
            f"\n{len(acknowledged):,} jobs; after the primary's death promoted in"
            f" {promoted - killed:.1f} s, first enqueue {again - killed:.1f} s, first"
            f" completion {float(first):.1f} s"
        )


def test_a_runner_at_a_standby_ends_or_waits_for_a_promotion_as_it_was_told(
    nodes: Cluster, bench: Bench
) -> None:
    with nodes.standby.connect() as session:
        there = "select to_regproc('rota.exchange') is not null"
        wait_until(lambda: value(session, there))
        astray = bench.start(dsn=nodes.standby.dsn)
        assert astray.exit_code() == EXIT_UNUSABLE
        (line,) = astray.output.splitlines()
        assert "this server is read-only" in line
        patient = bench.start(
            dsn=make_conninfo(nodes.standby.dsn, target_session_attrs="read-write")
        )
        patient.wait_for("database away")

        # Of several hosts it finds the right one, told to or not.
        hosts = [
            str(conninfo_to_dict(node.dsn)["host"])
            for node in (nodes.standby, nodes.primary)
        ]
        both = bench.start(dsn=make_conninfo(nodes.standby.dsn, host=",".join(hosts)))
        both.wait_for("registered as worker")
        both.kill()

        assert patient.process.poll() is None
        job = bench.enqueue("echo")
        nodes.primary.kill()
        nodes.promote()
        bench.connection = session
        bench.reaches(job, "completed")
        lines = patient.output.splitlines()
        assert all("database away" in line for line in lines[:-1])
        assert "registered as worker" in lines[-1]


def test_commits_that_wait_for_a_standby_lose_nothing(
    nodes: Cluster, bench: Bench
) -> None:
    """Its primary runs on, but what it commits is not acknowledged for long."""
    runner = bench.ready("--lease", "2")
    jobs = notes(bench.connection, bench.folder, 50)
    for job in jobs:
        bench.reaches(job, "completed")
    with nodes.standby.connect() as session:
        receiver = value(session, "select pid from pg_stat_wal_receiver")
    # These wait for nobody.
    bench.connection.execute("set synchronous_commit = local")
    os.kill(receiver, signal.SIGSTOP)
    try:
        jobs = notes(bench.connection, bench.folder, 50)
        # For more than a lease: it gives an answer half of one before it asks anew.
        wait_until(lambda: runner.output.count("trying again: no answer within") >= 4)
    finally:
        os.kill(receiver, signal.SIGCONT)
    for job in jobs:
        bench.reaches(job, "completed")
    completed = "from rota.executions where outcome = 'completed'"
    twice = f"select job_id {completed} group by 1 having count(*) > 1"
    assert rows(bench.connection, twice) == []
    begun = Counter((bench.folder / "notes").read_text().splitlines())
    assert max(begun.values()) == 1
