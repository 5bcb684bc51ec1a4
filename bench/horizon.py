"""What somebody else's open transaction costs."""

from __future__ import annotations

import contextlib
import time
from functools import partial
from typing import TYPE_CHECKING

import psycopg
from psycopg.types.json import Jsonb

from bench.figures import Case, Goal, Measured, figure
from bench.lab import connect
from bench.sides import SIDES, payload

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bench.lab import Lab

TOP_UP = 1_000
DEEP = 200_000
# Enough to be sure of a slope, when a side is so slow that it can't do all its jobs.
LIMIT_SECONDS = 30.0

NO_FLOORS = """
create or replace function rota._floors()
returns bigint[] language sql stable as $$ select '{}'::bigint[] $$
"""

HOLDS = {
    "nothing held": (),
    "snapshot held": (
        "begin isolation level repeatable read",
        "select count(*) from pg_class",
    ),
    "writer held": ("begin", "create table unrelated ()"),
}


@contextlib.contextmanager
def held(dsn: str, hold: str) -> Iterator[None]:
    """Keep a transaction open in a session of its own."""
    with contextlib.closing(psycopg.connect(dsn, autocommit=True)) as session:
        for statement in HOLDS[hold]:
            session.execute(statement.encode())
        yield


def tenths(
    lab: Lab,
    side: str,
    hold: str,
    batch: int,
    jobs: int,
    backlog: int = TOP_UP,
    changes: tuple[str, ...] = (),
) -> Measured:
    """Return the loop's jobs/s in the first and in the last tenth, and their ratio.

    backlog: how many jobs are always queued, at least.
    """
    with (
        lab.database(side, changes) as database,
        held(database.dsn, hold),
        connect(database.dsn) as session,
    ):
        loop = SIDES[side].loop(session, batch)
        statement = SIDES[side].bulk.encode()
        payloads = [Jsonb(payload(seq)) for seq in range(TOP_UP)]
        # When so many jobs were done, without the time the top-ups took.
        marks = [(0, 0.0)]
        queued, done, busy = 0, 0, 0.0
        while done < jobs and busy < LIMIT_SECONDS:
            while queued < backlog:
                session.execute(statement, [payloads])
                queued += TOP_UP
            begun = time.perf_counter()
            taken = loop.step()
            busy += time.perf_counter() - begun
            if not taken:
                raise RuntimeError(f"{side} found none of {queued} jobs")
            queued, done = queued - taken, done + taken
            marks.append((done, busy))
    first, last = rate(marks, 0.0, 0.1), rate(marks, 0.9, 1.0)
    return {
        "first jobs/s": first,
        "last jobs/s": last,
        "last / first": last / first,
        "jobs": float(done),
    }


def rate(marks: list[tuple[int, float]], start: float, end: float) -> float:
    """Return jobs/s between two fractions of all that was done."""
    total = marks[-1][0]
    begin = next(mark for mark in marks if mark[0] >= start * total)
    finish = next(mark for mark in marks if mark[0] >= end * total)
    return (finish[0] - begin[0]) / (finish[1] - begin[1])


@figure
def horizon(lab: Lab) -> Iterator[Case]:
    """Work beside an open transaction.

    One session claims and completes in batches while another transaction stays open
    from the beginning: a REPEATABLE READ snapshot, or one that has written something
    of its own. Whenever fewer than 1,000 jobs are queued (deep: 200,000), 1,000 more
    are added in bulk; that time is left out. Compared are the last and the first tenth
    of the jobs. A side stops early when it has taken 30 seconds. The control holds
    nothing.
    """
    goals = {"snapshot held": 0.9, "writer held": 0.85}
    for batch, quoted in (
        (1, 12_000),
        (10, 80_000),
        (100, 500_000),
        (500, 500_000),
    ):
        jobs = max(lab.size(quoted), 20 * batch)
        for hold in HOLDS:
            bound = goals.get(hold)
            sides = SIDES if hold == "snapshot held" else ("rota",)
            yield Case(
                f"batch {batch}, {hold}",
                {side: partial(tenths, lab, side, hold, batch, jobs) for side in sides},
                (Goal("last / first", ">=", bound),) if bound else (),
            )
    jobs, backlog = max(lab.size(500_000), 2_000), max(lab.size(DEEP), TOP_UP)
    for hold in ("nothing held", "snapshot held"):
        bound = goals.get(hold)
        yield Case(
            f"batch 100, deep, {hold}",
            {"rota": partial(tenths, lab, "rota", hold, 100, jobs, backlog)},
            (Goal("last / first", ">=", bound),) if bound else (),
        )
