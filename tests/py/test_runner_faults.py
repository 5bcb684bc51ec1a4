"""Runners whose handlers, connections or clocks misbehave."""

from __future__ import annotations

import contextlib
import signal
import time
from datetime import timedelta
from typing import TYPE_CHECKING

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.types.json import Jsonb

from cutting_proxy import CuttingProxy
from rota import schema
from rota.connections import Backoff
from rota.demo.server import ServerError, server
from runner_process import Bench, Runner
from sessions import let_exchange_wait
from waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from conftest import Connect


@pytest.fixture
def bench(dsn: str, tmp_path: Path, connect: Connect) -> Iterator[Bench]:
    with contextlib.closing(Bench(dsn, tmp_path, connect())) as made:
        yield made


def sessions(bench: Bench) -> list[tuple[str, bool]]:
    """Return the state of each, none for one that just begins, and whether it works."""
    return bench.connection.execute(
        "select coalesce(state, ''), xact_start is not null from pg_stat_activity"
        " where application_name = 'rota' and datname = current_database()"
    ).fetchall()


def complaints(runner: Runner) -> int:
    """Count what it said of its database; a line a second is what it may say."""
    return runner.output.count("database away")


def test_a_late_finish_after_a_stop_is_refused(bench: Bench) -> None:
    stalled = bench.ready()
    job = bench.enqueue("hold_thread", timeout=timedelta(hours=1))
    bench.begun(job)
    stalled.stop()
    bench.reaps(job)
    other = bench.ready()
    bench.begun(job, 2)
    before = bench.connection.execute("select * from rota.job").fetchone()
    stalled.signal(signal.SIGCONT)
    stalled.wait_for("lease of worker")
    wait_until(lambda: stalled.output.count("registered as worker") == 2)
    assert bench.connection.execute("select * from rota.job").fetchone() == before
    bench.go()
    found = bench.reaches(job, "completed")
    assert found["result"] == f"held by {other.process.pid}"
    assert found["attempt"] == 1
    other.kill()
    bench.reaches(bench.enqueue("echo"), "completed")  # by the one that came back


def test_a_handler_whose_lease_is_lost_is_told_to_end(bench: Bench) -> None:
    stalled = bench.ready()
    job = bench.enqueue("hold_deaf")
    bench.begun(job)
    stalled.stop()
    bench.reaps(job)
    stalled.signal(signal.SIGCONT)
    wait_until((bench.folder / f"cancelled-{job}").exists)
    bench.begun(job, 2)
    bench.go()
    bench.reaches(job, "completed")
    assert bench.outcomes(job) == ["lost", "completed"]


def test_jobs_outlive_their_runners_connections(bench: Bench) -> None:
    began = time.monotonic()
    runner = bench.ready()
    jobs = [bench.enqueue("hold"), bench.enqueue("hold_thread")]
    for job in jobs:
        bench.begun(job)
    for _ in range(20):
        wait_until(bench.terminate)
    missed = bench.enqueue("echo")
    bench.go()
    for job in [*jobs, missed]:
        found = bench.reaches(job, "completed")
        assert (found["attempt"], found["execution"]) == (1, 1)
    assert complaints(runner) <= 1 + time.monotonic() - began
    wait_until(lambda: sorted(sessions(bench)) == [("idle", False)] * 2)


@pytest.fixture
def proxy(bench: Bench) -> Iterator[CuttingProxy]:
    server = conninfo_to_dict(bench.dsn)
    if not str(server.get("host")).startswith("/"):
        pytest.skip("the proxy speaks to a local socket")
    socket_path = f"{server['host']}/.s.PGSQL.{server.get('port', 5432)}"
    with CuttingProxy(bench.folder, socket_path) as made:
        yield made


def test_jobs_in_a_lost_answer_come_back(bench: Bench, proxy: CuttingProxy) -> None:
    dsn = make_conninfo(bench.dsn, host=str(bench.folder), port=5432)
    # What holds it up here is not to end of itself.
    let_exchange_wait(bench.connection)
    runner = bench.start("--concurrency", "2", dsn=dsn)
    runner.wait_for("registered as worker")
    held = bench.enqueue("hold")
    bench.begun(held)
    for count in range(1, 6):
        with bench.connection.transaction():
            bench.connection.execute("select 1 from rota.worker for update")
            job = bench.enqueue("echo")
            proxy.cut("rota.exchange")
        found = bench.reaches(job, "completed")
        wait_until(lambda: proxy.cut_count >= count)  # noqa: B023 - called at once
        assert found["attempt"] == 1
    bench.go()
    found = bench.reaches(held, "completed")
    assert (found["attempt"], found["execution"]) == (1, 1)
    assert "was handed out in an answer that got lost" in runner.output


@pytest.mark.parametrize("is_carried_out", [True, False])
def test_a_completion_whose_answer_is_lost_is_sent_again(
    bench: Bench, proxy: CuttingProxy, is_carried_out: bool
) -> None:
    dsn = make_conninfo(bench.dsn, host=str(bench.folder), port=5432)
    runner = bench.start(dsn=dsn)
    jobs = [bench.enqueue("hold") for _ in range(5)]
    for job in jobs:
        bench.begun(job)
    proxy.cut(f"held by {runner.process.pid}", is_carried_out=is_carried_out)
    bench.go()
    for job in jobs:
        bench.reaches(job, "completed")
        assert bench.outcomes(job) == ["completed"]
    bench.reaches(bench.enqueue("echo"), "completed")
    assert proxy.cut_count == 1
    assert "ended too late" not in runner.output


def test_it_waits_for_a_database_that_is_not_there_yet(
    bench: Bench, empty_dsn: str
) -> None:
    name = f"{conninfo_to_dict(bench.dsn)['dbname']}_later"
    runner = bench.start(dsn=make_conninfo(bench.dsn, dbname=name))
    runner.wait_for("database away")
    template = conninfo_to_dict(bench.dsn)["dbname"]
    with psycopg.connect(empty_dsn, autocommit=True) as admin:
        bench.connection.close()
        wait_until(
            lambda: (
                not admin.execute(
                    "select from pg_stat_activity where datname = %s", [template]
                ).fetchall()
            )
        )
        admin.execute(
            sql.SQL("create database {} template {}").format(
                sql.Identifier(name), sql.Identifier(str(template))
            )
        )
        try:
            runner.wait_for("registered as worker")
            runner.signal(signal.SIGTERM)
            assert runner.exit_code() == 0
        finally:
            runner.kill()
            admin.execute(
                sql.SQL("drop database {} with (force)").format(sql.Identifier(name))
            )


def test_pauses_between_tries_grow_to_half_a_minute() -> None:
    backoff = Backoff()
    pauses = [backoff.pause() for _ in range(1000)]
    assert max(pauses) <= 30
    assert pauses[0] <= 0.1
    assert min(pauses[10:]) >= 15
    assert len(set(pauses)) > 100  # so that runners do not come back in step


def test_a_database_without_rota_is_refused(bench: Bench, empty_dsn: str) -> None:
    runner = bench.start(dsn=empty_dsn)
    assert runner.exit_code() == 2
    assert runner.output.splitlines() == [
        "rota: rota is not installed in this database: run rota install"
    ]


def test_a_schema_of_another_version_is_refused(bench: Bench) -> None:
    bench.connection.execute(
        "create or replace function rota.version() returns text"
        " language sql immutable as $$ select '999.0.0' $$"
    )
    runner = bench.start()
    assert runner.exit_code() == 2
    (line,) = runner.output.splitlines()
    assert "999.0.0" in line


def test_an_unknown_queue_is_refused(bench: Bench) -> None:
    runner = bench.start("--queues", "default,no-such")
    assert runner.exit_code() == 2
    assert "no such queue" in runner.output.splitlines()[-1]


def test_processes_give_up_together_on_what_cannot_work(bench: Bench) -> None:
    runner = bench.start("--processes", "2", "--queues", "no-such")
    assert runner.exit_code() == 2


def test_a_process_started_anew_waits_for_a_server_that_takes_writes(
    bench: Bench,
) -> None:
    parent = bench.start("--processes", "2", "--concurrency", "1")
    alive = "select count(*) from rota.worker_status where state = 'alive'"
    wait_until(lambda: bench.connection.execute(alive).fetchone() == (2,))
    set_read_only = sql.SQL(
        "alter database {} set default_transaction_read_only = {}"
    ).format
    database = sql.Identifier(bench.connection.info.dbname)
    bench.connection.execute(set_read_only(database, "on"))
    bench.connection.execute("select rota.alter_queue('default', max_lost => 1)")
    bench.enqueue("die")
    parent.wait_for("died with code 2: starting anew")
    bench.connection.execute(set_read_only(database, "off"))
    wait_until(lambda: parent.output.count("registered as worker") > 2)
    bench.reaches(bench.enqueue("echo"), "completed")
    parent.signal(signal.SIGTERM)
    assert parent.exit_code() == 0


def test_without_listening_it_polls(bench: Bench) -> None:
    bench.ready("--no-listen")
    bench.reaches(bench.enqueue("echo"), "completed")
    assert len(sessions(bench)) == 1


@pytest.mark.parametrize("kind", ["hold", "hold_deaf", "hold_deaf_thread"])
def test_a_job_that_takes_too_long_is_timed_out(bench: Bench, kind: str) -> None:
    bench.ready("--concurrency", "1")
    job = bench.enqueue(kind, timeout=timedelta(seconds=0.3), max_attempts=1)
    found = bench.reaches(job, "dead")
    assert bench.outcomes(job) == ["timed_out"]
    assert "timed out after 0:00:00.3" in found["error"]
    # A slot whose handler cannot be ended is free when it returns, and what it returns
    # is not recorded.
    bench.go()
    bench.reaches(bench.enqueue("echo"), "completed")
    assert bench.job(job)["state"] == "dead"


@pytest.mark.parametrize(
    ("kind", "state"),
    [("hold", "cancelled"), ("hold_thread", "cancelled"), ("hold_deaf", "completed")],
)
def test_a_running_job_is_told_to_end(bench: Bench, kind: str, state: str) -> None:
    bench.ready()
    job = bench.enqueue(kind)
    bench.begun(job)
    bench.connection.execute("select rota.cancel_job(id => %s)", [job])
    if kind == "hold_deaf":
        wait_until((bench.folder / f"cancelled-{job}").exists)
        bench.go()
    bench.reaches(job, state)
    assert bench.outcomes(job) == [state]
    bench.reaches(bench.enqueue("echo"), "completed")


def test_a_delay_may_be_longer_than_the_lease(bench: Bench) -> None:
    runners = [bench.ready() for _ in range(3)]
    job = bench.enqueue("echo", delay=timedelta(hours=1))
    bench.connection.execute(
        "update rota.worker set lease_expires_at = clock_timestamp()"
    )
    for runner in runners:
        wait_until(lambda: runner.output.count("registered as worker") > 1)  # noqa: B023
    assert bench.job(job)["execution"] == 0
    bench.connection.execute(
        "update rota.job set run_at = clock_timestamp() + interval '1 second'"
    )
    found = bench.reaches(job, "completed")
    assert found["claimed_at"] >= found["run_at"]
    assert found["execution"] == 1
    assert bench.outcomes(job) == ["completed"]


@contextlib.contextmanager
def serving(folder: Path) -> Iterator[str]:
    """Run a server of our own, to be found in the same place each time."""
    with server(directory=folder / "data") as dsn:
        place = folder / "s"
        place.unlink(missing_ok=True)
        place.symlink_to(str(conninfo_to_dict(dsn)["host"]))
        yield f"host={place} user=postgres dbname=postgres"


def test_a_server_may_be_away_at_the_start_and_later(tmp_path: Path) -> None:
    try:
        with serving(tmp_path) as dsn, psycopg.connect(dsn, autocommit=True) as session:
            schema.install(session)
    except ServerError as error:
        pytest.skip(f"this test starts servers of its own: {error}")
    began = time.monotonic()
    runner = Runner(dsn, tmp_path / "runner.log")
    try:
        runner.wait_for("database away")
        with serving(tmp_path), psycopg.connect(dsn, autocommit=True) as session:
            bench = Bench(dsn, tmp_path, session)
            jobs = [bench.enqueue("hold"), bench.enqueue("hold_thread")]
            for job in jobs:
                bench.begun(job)
            count = runner.output.count("database away")
        wait_until(lambda: runner.output.count("database away") > count + 1)
        with serving(tmp_path), psycopg.connect(dsn, autocommit=True) as session:
            bench = Bench(dsn, tmp_path, session)
            bench.go()
            for job in jobs:
                found = bench.reaches(job, "completed")
                assert (found["attempt"], found["execution"]) == (1, 1)
            bench.reaches(bench.enqueue("echo"), "completed")
            runner.signal(signal.SIGTERM)
            assert runner.exit_code() == 0
        assert complaints(runner) <= 1 + time.monotonic() - began
    finally:
        runner.kill()


def _fill_with_slow_after_fast(bench: Bench, slow_count: int) -> None:
    """Fast jobs, by which a runner learns to fetch ahead, and slow ones after them."""
    bench.connection.execute(
        "select count(*) from rota.enqueue_jobs("
        " kinds => %s, payloads => array_fill(%s::jsonb, array[%s::integer]))",
        [
            ["echo"] * 2000 + ["hold"] * slow_count,
            Jsonb({"folder": str(bench.folder)}),
            2000 + slow_count,
        ],
    )


def _count(bench: Bench, state: str) -> int:
    row = bench.connection.execute(
        "select count(*) from rota.jobs where kind = 'hold' and state = %s", [state]
    ).fetchone()
    assert row
    return int(row[0])


def test_no_runner_keeps_jobs_that_another_could_run(bench: Bench) -> None:
    bench.ready("--poll", "600", "--concurrency", "3")
    rounds = 0

    def have_begun(count: int) -> bool:
        begun = len(list(bench.folder.glob("begun-*")))
        return begun == 200 * (rounds - 1) + count

    def has_handed_back() -> bool:
        """Let it come to slow jobs while it fetches ahead for fast ones.

        It may have come to them at a bad moment, when nothing was fast.
        """
        nonlocal rounds
        if rounds:
            bench.go()
            wait_until(lambda: _count(bench, "completed") == 200 * rounds)
            bench.stay()
        rounds += 1
        _fill_with_slow_after_fast(bench, 200)
        wait_until(lambda: have_begun(3))
        left = (3, 197)
        wait_until(lambda: (_count(bench, "running"), _count(bench, "queued")) == left)
        handed_back = bench.connection.execute(
            "select from rota.executions where outcome = 'released'"
        )
        return handed_back.fetchone() is not None

    wait_until(has_handed_back)
    bench.ready("--poll", "600", "--concurrency", "197")
    wait_until(lambda: have_begun(200))
    bench.go()
    wait_until(lambda: _count(bench, "completed") == 200 * rounds)
    assert bench.connection.execute(
        "select count(*) from rota.jobs where attempt <> 1"
    ).fetchone() == (0,)
