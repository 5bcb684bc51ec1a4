"""Schedules that an application declares, and how promptly a runner serves them."""

from __future__ import annotations

import asyncio
import threading
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

import rota
from sessions import column, rows, value
from waiting import PATIENCE, wait_until

if TYPE_CHECKING:
    from conftest import Connect


def app_with(expression: str = "@daily", **options: Any) -> rota.App:
    app = rota.App()
    app.schedule("nightly", expression, "report", {"to": "all"}, **options)
    return app


def start(app: rota.App, dsn: str) -> None:
    asyncio.run(rota.Worker(app, dsn).run_once())


def test_a_worker_creates_what_is_declared_and_changes_what_differs(
    dsn: str, connect: Connect
) -> None:
    session = connect()
    session.execute("select rota.create_schedule('another', '@weekly', 'k')")
    start(app_with(timezone="europe/paris", max_age=timedelta(hours=3)), dsn)
    before = rows(session, "select * from rota.schedule_status order by schedule")
    start(app_with(timezone="Europe/Paris", max_age=timedelta(hours=3)), dsn)
    assert before == rows(
        session, "select * from rota.schedule_status order by schedule"
    )
    session.execute("select rota.pause_schedule('nightly')")

    start(app_with("30 2 * * *", overlap="skip"), dsn)

    assert rows(
        session,
        "select schedule, expression, timezone, overlap, payload, state, max_age "
        "from rota.schedule_status order by schedule",
    ) == [
        ("another", "@weekly", "UTC", "allow", {}, "active", None),
        ("nightly", "30 2 * * *", "UTC", "skip", {"to": "all"}, "paused", None),
    ]


def test_a_worker_does_not_start_with_an_invalid_schedule(
    dsn: str, connect: Connect
) -> None:
    with pytest.raises(rota.InvalidSchedule, match="invalid cron expression"):
        start(app_with("61 * * * *"), dsn)
    assert value(connect(), "select count(*) from rota.schedule") == 0


def test_a_name_is_declared_once() -> None:
    app = app_with()
    with pytest.raises(ValueError, match="declared already"):
        app.schedule("nightly", "@weekly", "report")


def test_fires_do_not_wait_for_a_poll(dsn: str, connect: Connect) -> None:
    """A runner that polls once an hour serves a schedule of every second."""
    session = connect()
    seen: list[Any] = []
    app = rota.App()
    app.handler("tick")(lambda job: seen.append(job.payload))
    worker = rota.Worker(app, dsn, poll=timedelta(hours=1))
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_until_complete, args=[worker.run()])
    thread.start()
    try:
        wait_until(
            lambda: value(
                session,
                "select count(*) from pg_locks where locktype = 'advisory' "
                "and mode = 'ShareLock' and objsubid = 2 and database = "
                "(select oid from pg_database where datname = current_database())",
            )
        )
        # The runner sleeps by now, with nothing due; the schedule has to wake it.
        session.execute("select rota.create_schedule('s', '@every 1s', 'tick')")
        wait_until(lambda: len(seen) >= 4)
    finally:
        loop.call_soon_threadsafe(worker.drain)
        thread.join(PATIENCE)
        loop.close()

    assert all(one["schedule"]["name"] == "s" for one in seen)
    due = [one["schedule"]["due_at"] for one in seen]
    assert sorted(set(due)) == due
    late = column(
        session, "select claimed_at - run_at from rota.jobs where state = 'completed'"
    )
    print(f"\n{len(late)} jobs began at most {max(late)} after their instants")
