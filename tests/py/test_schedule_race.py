"""Many maintainers, one job for each fire."""

from __future__ import annotations

import random
import threading
import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from cron_random import seed
from sessions import column, meanwhile, rows, together, value, wait_blocked
from waiting import PATIENCE, wait_until

if TYPE_CHECKING:
    from threading import Barrier

    from conftest import Connect
    from sessions import Session

START = datetime(2030, 1, 15, tzinfo=UTC)

_MOVABLE_CLOCK = """
create table public.clock (at timestamptz not null);
create or replace function rota._now()
returns timestamptz
language sql
volatile
parallel unsafe
as $$ select c.at from public.clock as c $$
"""

_WRONG = """
select f.due_at, count(j.id)
from generate_series(%(first)s::timestamptz, %(last)s, '1 second') as f (due_at)
full join rota.jobs as j on j.run_at = f.due_at
group by f.due_at
having count(j.id) <> 1
"""


def set_clock(session: Session, at: datetime) -> None:
    session.execute(_MOVABLE_CLOCK)
    session.execute("insert into public.clock values (%s)", [at])


@pytest.mark.timeout(900)
def test_five_maintainers_make_one_job_for_every_second_of_a_day(
    dsn: str, connect: Connect
) -> None:
    """The test moves the clock and shoots sessions; jobs end as soon as they can."""
    session = connect()
    set_clock(session, START)
    session.execute(
        "select rota.create_schedule('s', '@every 1s', 'k', missed => 'all', "
        "max_missed => 1000)"
    )
    end = START + timedelta(days=1)
    is_over = threading.Event()
    has_moved = threading.Condition()
    pick = random.Random(seed())

    def repeat(statement: str) -> None:
        """Again and again while it finds something; then wait for the clock to move."""
        while not is_over.is_set():
            try:
                with psycopg.connect(
                    dsn, autocommit=True, application_name="target"
                ) as mine:
                    while not is_over.is_set():
                        if not value(mine, statement):
                            with has_moved:
                                has_moved.wait(0.5)
            except psycopg.OperationalError:
                continue  # shot

    # Ended jobs give their idempotency keys back: these alone do not make fires unique.
    worker = value(session, "select rota.register_worker('w', '1 h')")
    work = (
        "select count(rota.complete_job(c.id, c.execution)) "
        f"from rota.claim_jobs({worker}, max_jobs => 1000) as c"
    )
    threads = [
        threading.Thread(target=repeat, args=[statement])
        for statement in [*["select rota.materialize_schedules()"] * 5, work]
    ]
    for thread in threads:
        thread.start()
    try:
        at = START
        checked = "select checked_at from rota.schedule"
        while at < end:
            at = min(at + timedelta(seconds=pick.randint(1, 120)), end)
            session.execute("update public.clock set at = %s", [at])
            with has_moved:
                has_moved.notify_all()
            if pick.random() < 0.02:
                session.execute(
                    "select pg_terminate_backend(pid) from pg_stat_activity "
                    "where application_name = 'target' "
                    "and datname = current_database() order by random() limit 1"
                )
            wait_until(
                lambda: at - value(session, checked) < timedelta(seconds=500)  # noqa: B023
            )
        wait_until(lambda: value(session, checked) == end)
    finally:
        is_over.set()
        with has_moved:
            has_moved.notify_all()
        for thread in threads:
            thread.join(PATIENCE)

    assert value(session, "select count(*) from rota.jobs") == 86_400
    assert not rows(session, _WRONG, first=START + timedelta(seconds=1), last=end)
    assert value(session, "select missed_count from rota.schedule") == 0


@pytest.mark.timeout(900)
def test_five_maintainers_make_one_job_for_every_second_of_a_real_minute(
    dsn: str, connect: Connect
) -> None:
    session = connect()
    session.execute(
        "select rota.create_schedule('s', '@every 1s', 'k', missed => 'all')"
    )
    anchor = value(session, "select anchor_at from rota.schedule")
    last = anchor + timedelta(seconds=60)

    def maintain(mine: Session, _number: int, _barrier: Barrier) -> None:
        is_over = False
        while not is_over:
            # Asked first: who ends has done a round since then.
            is_over = value(mine, "select clock_timestamp() >= %(last)s", last=last)
            due_in = value(
                mine,
                "select extract(epoch from m.next_due_at - clock_timestamp())::float "
                "from rota.maintain() as m",
            )
            # As runners do: until the next fire, not until the next tick.
            time.sleep(max(0.0, due_in))

    together(dsn, 5, maintain)

    session.execute("select rota.drop_schedule('s')")
    assert not rows(
        session,
        "select * from (" + _WRONG + ") as w where w.due_at <= %(last)s",
        first=anchor + timedelta(seconds=1),
        last=last,
    )
    late = value(
        session,
        "select max(created_at - run_at) from rota.jobs where run_at <= %(last)s",
        last=last,
    )
    print(f"\nlatest of 60 jobs enqueued {late} after its instant")


def test_a_schedule_in_the_hands_of_one_session_is_passed_over_by_the_others(
    connect: Connect,
) -> None:
    session, other = connect(), connect()
    set_clock(session, START)
    session.execute("select rota.create_schedule('s', '* * * * *', 'k')")
    session.execute("select rota.create_schedule('t', '*/2 * * * *', 'k')")
    session.execute("update public.clock set at = at + interval '1 minute'")
    with connect(autocommit=False) as holder:
        holder.execute("select rota.materialize_schedules()")
        session.execute("update public.clock set at = at + interval '1 minute'")
        assert value(other, "select rota.materialize_schedules()") == 1
        assert column(other, "select payload #>> '{schedule,name}' from rota.jobs") == [
            "t"
        ]
        # Whoever wants to change it waits, and then sees what was fired.
        with meanwhile(rows, other, "select rota.pause_schedule('s')") as paused:
            wait_blocked(session, other)
            holder.commit()
            assert paused.result(PATIENCE) == [(True,)]
    assert value(session, "select rota.materialize_schedules()") == 0
    assert value(session, "select count(*) from rota.jobs") == 2


def test_a_session_that_dies_after_firing_loses_nothing(connect: Connect) -> None:
    session = connect()
    set_clock(session, START)
    session.execute("select rota.create_schedule('s', '* * * * *', 'k')")
    session.execute("update public.clock set at = at + interval '1 minute'")
    dying = connect(autocommit=False)
    assert value(dying, "select rota.materialize_schedules()") == 1
    session.execute("select pg_terminate_backend(%s, 60000)", [dying.info.backend_pid])
    assert value(session, "select rota.materialize_schedules()") == 1
    assert value(session, "select count(*) from rota.jobs") == 1


def test_twenty_runners_declaring_one_schedule_create_it_once(
    dsn: str, connect: Connect
) -> None:
    def declare(mine: Session, number: int, barrier: Barrier) -> list[str]:
        answers = []
        for name in ("a", "b"):
            barrier.wait()
            answers.append(
                value(
                    mine,
                    "select rota.create_schedule(%(name)s, '@daily', %(kind)s, "
                    "replace => true)",
                    name=name,
                    kind="k" if name == "a" else f"k{number % 2}",
                )
            )
        return answers

    answers = together(dsn, 20, declare)

    assert sorted(first for first, _ in answers) == ["created", *["unchanged"] * 19]
    assert [second for _, second in answers].count("created") == 1
    assert value(connect(), "select count(*) from rota.schedule") == 2


def expected_fires(
    session: Session, definition: tuple[str, str], since: datetime, until: datetime
) -> list[Any]:
    return column(
        session,
        "select f from rota.cron_next(%(expression)s, %(zone)s, %(since)s, 2000) as f "
        "where f <= %(until)s",
        expression=definition[0],
        zone=definition[1],
        since=since,
        until=until,
    )


def test_changes_and_pauses_neither_fire_for_the_past_nor_twice(
    connect: Connect,
) -> None:
    """A random life of a schedule beside a list of what it should have fired."""
    session = connect()
    number = seed()
    pick = random.Random(number)
    at = datetime(2027, 3, 14, 4, 0, 30, tzinfo=UTC)  # a night with a clock change
    set_clock(session, at)
    definitions = [
        (expression, zone)
        for expression in ("*/7 * * * *", "*/5 * * * *", "30 2 * * *", "0 * * * *")
        for zone in ("America/New_York", "Asia/Kathmandu", "UTC")
    ]
    definition = pick.choice(definitions)
    session.execute(
        "select rota.create_schedule('s', %s, 'k', timezone => %s, missed => 'all', "
        "max_missed => 1000)",
        definition,
    )
    started: datetime | None = at
    expected: list[datetime] = []
    for _ in range(400):
        at += timedelta(seconds=pick.choice((0, 1, 30, 60, 300, 1700)))
        session.execute("update public.clock set at = %s", [at])
        deed = pick.choices(
            ("fire", "change", "touch", "pause", "resume"), (12, 2, 2, 1, 2)
        )[0]
        if deed == "fire":
            session.execute("select rota.materialize_schedules()")
            if started:
                expected += expected_fires(session, definition, started, at)
                started = at
        elif deed == "change":
            changed = pick.choice(definitions)
            session.execute(
                "select rota.alter_schedule('s', %s, timezone => %s)", changed
            )
            if changed != definition and started:
                started = at
            definition = changed
        elif deed == "touch":  # does not disturb what is due
            session.execute(
                "select rota.alter_schedule('s', payload => to_jsonb(%s::text))",
                [str(at)],
            )
        elif deed == "pause":
            session.execute("select rota.pause_schedule('s')")
            started = None
        elif value(session, "select rota.resume_schedule('s')"):
            started = at

    fired = column(session, "select run_at from rota.jobs order by run_at, id")
    assert fired == expected, number
    assert len(fired) == len(set(fired)) > 50
