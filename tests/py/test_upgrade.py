"""An upgraded database is a fresh one, with all that was in it, and nobody stops."""

from __future__ import annotations

import contextlib
import difflib
import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from dumps import schema_dump
from every_state import content, fill, go_on, ordered, states
from releases import NoHistory, environment, install_sql
from rota import schema, scripts
from runner_process import Runner
from sessions import column, let_exchange_wait, results, rows, value
from waiting import PATIENCE, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from sessions import Session

RELEASES = scripts.releases()[:-1]


def old_sql(version: str) -> str:
    try:
        return install_sql(version)
    except NoHistory as error:
        pytest.skip(str(error))


def upgrade(session: psycopg.Connection[Any]) -> str:
    return schema.upgrade(session, patience=timedelta(seconds=PATIENCE))


@pytest.fixture(params=RELEASES)
def old(request: pytest.FixtureRequest, empty_dsn: str) -> Iterator[Session]:
    """A session on a database with an earlier release in it."""
    with psycopg.connect(empty_dsn, autocommit=True) as session:
        session.execute(old_sql(request.param).encode())
        yield session


def with_new_columns(old: list[dict[str, Any]], new: list[dict[str, Any]]) -> Any:
    """Return the old rows with the columns that only the new ones have, as null."""
    names = {name for row in new for name in row}
    return ordered([dict.fromkeys(names) | row for row in old])


def test_an_upgraded_schema_equals_a_fresh_one(
    old: Session, empty_dsn: str, dsn: str
) -> None:
    fill(old)
    upgrade(old)
    fresh, upgraded = schema_dump(dsn), schema_dump(empty_dsn)
    difference = difflib.unified_diff(
        fresh.splitlines(), upgraded.splitlines(), "fresh", "upgraded", lineterm="", n=8
    )
    assert not (lines := list(difference)), "\n".join(
        ["does sql/migrations say all?", *lines[:200]]
    )


def test_an_upgrade_keeps_every_row_and_work_goes_on(old: Session) -> None:
    fill(old)
    assert states(old) == {
        *("scheduled", "queued", "running", "completed", "cancelled", "dead")
    }
    before = content(old)
    assert all(before.values()), "some table is empty"
    assert upgrade(old) in RELEASES
    after = content(old)
    for table, kept in before.items():
        assert with_new_columns(kept, after[table]) == after[table], table
    assert schema.installed_version(old) == schema.version()
    go_on(old)


def enqueue_echoes(session: Session, count: int) -> None:
    session.execute(
        "select rota.enqueue_jobs(array_fill('echo'::text, array[%(count)s]),"
        " array_fill('{}'::jsonb, array[%(count)s]))",
        {"count": count},
    )


def count_completed(session: Session) -> int:
    return int(value(session, "select count(*) from rota.archive"))


def run_once(session: Session) -> int:
    """Count the jobs that were completed, and see that none was begun twice.

    What was fetched ahead and could not be begun at once has gone back, uncharged.
    """
    outcomes = column(session, "select distinct outcome from rota.executions")
    assert {*outcomes} - {"released"} == {"completed"}
    assert column(session, "select distinct attempt from rota.archive") == [1]
    return count_completed(session)


@contextlib.contextmanager
def running(
    dsn: str, log: Path, own: Mapping[str, str] = os.environ
) -> Iterator[Runner]:
    runner = Runner(dsn, log, environment=own)
    try:
        yield runner
    finally:
        runner.kill()


def drain(runner: Runner) -> None:
    """End the runner, which must have had nothing to complain of."""
    complaints = ("WARNING", "ERROR", "Traceback", "rror:")
    output = runner.output
    runner.signal(signal.SIGTERM)
    assert runner.exit_code() == 0
    assert not any(word in output for word in complaints), output


@pytest.mark.parametrize("release", [*RELEASES, "this"])
def test_runners_of_either_age_work_on_an_upgraded_schema(
    old: Session, empty_dsn: str, tmp_path: Path, release: str
) -> None:
    upgrade(old)
    enqueue_echoes(old, 500)
    own = os.environ if release == "this" else environment(release)
    with running(empty_dsn, tmp_path / "log", own) as runner:
        wait_until(lambda: count_completed(old) == 500)
        drain(runner)
    assert run_once(old) == 500
    assert column(old, "select version from rota.worker_status") == [
        schema.version() if release == "this" else None
    ]


def test_a_runner_of_an_earlier_release_works_on_its_own_schema(
    old: Session, empty_dsn: str, tmp_path: Path
) -> None:
    installed = schema.installed_version(old)
    assert installed
    enqueue_echoes(old, 500)
    with running(empty_dsn, tmp_path / "log", environment(installed)) as runner:
        wait_until(lambda: count_completed(old) == 500)
        drain(runner)


def test_a_runner_refuses_an_older_schema_naming_both_and_the_remedy(
    old: Session, empty_dsn: str, tmp_path: Path
) -> None:
    enqueue_echoes(old, 500)
    with running(empty_dsn, tmp_path / "log") as runner:
        assert runner.exit_code() == 2
    installed = schema.installed_version(old)
    assert runner.output == (
        f"rota: the database has rota {installed}, this package is {schema.version()}:"
        " run rota upgrade\n"
    )
    assert not rows(old, "select from rota.worker")


def test_an_upgrade_under_load_loses_nothing_and_disturbs_nobody(
    old: Session, empty_dsn: str, tmp_path: Path, record_property: Any
) -> None:
    """Sessions that were there before go on: old plans, old bodies, old functions."""
    installed = schema.installed_version(old)
    assert installed
    let_exchange_wait(old)  # however long the upgrade locks the tables
    stop = threading.Event()

    def enqueue_on(session: Session) -> tuple[list[int], float]:
        """Enqueue without a pause; returns the jobs and the longest call."""
        jobs: list[int] = []
        longest = 0.0
        while not stop.is_set():
            began = time.monotonic()
            jobs.append(value(session, "select rota.enqueue('echo')"))
            longest = max(longest, time.monotonic() - began)
        return jobs, longest

    with contextlib.ExitStack() as stack:
        runners = [
            stack.enter_context(
                running(empty_dsn, tmp_path / f"log{n}", environment(installed))
            )
            for n in range(2)
        ]
        sessions = [
            stack.enter_context(psycopg.connect(empty_dsn, autocommit=True))
            for _ in range(2)
        ]
        pool = stack.enter_context(ThreadPoolExecutor(2))
        stack.callback(stop.set)
        enqueuers = [pool.submit(enqueue_on, session) for session in sessions]
        wait_until(lambda: count_completed(old) > 500)
        began = time.monotonic()
        upgrade(old)
        took = time.monotonic() - began
        done = count_completed(old)
        wait_until(lambda: count_completed(old) > done + 500)
        stop.set()
        enqueued = results(enqueuers)
        jobs = sorted(job for made, _ in enqueued for job in made)
        wait_until(lambda: count_completed(old) == len(jobs))
        for runner in runners:
            drain(runner)

    assert column(old, "select id from rota.archive order by id") == jobs
    assert run_once(old) == len(jobs)
    longest_claim = value(
        old,
        "select extract(epoch from max(gap)) from (select finished_at -"
        " lag(finished_at) over (order by finished_at) as gap from rota.archive) as g",
    )
    figures = {
        "upgrade": took,
        "longest enqueue": max(longest for _, longest in enqueued),
        "longest time without a completion": float(longest_claim),
    }
    record_property("seconds", figures)
    print(len(jobs), figures)
