"""The demo's account: every number from the database, beside what it has to be."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from rota.demo.work import MAX_ATTEMPTS

if TYPE_CHECKING:
    from collections.abc import Sequence

    import psycopg
    from psycopg.rows import TupleRow

    from rota.demo.work import Plan

Connection: TypeAlias = "psycopg.Connection[TupleRow]"

RETRIED = """
    select count(*)
    from rota.executions as e
    inner join rota.executions as n
        on n.job_id = e.job_id and n.execution = e.execution + 1
    where e.outcome = 'failed' and n.attempt = e.attempt + 1
"""
# An attempt is refunded when the next execution is charged under the same number.
HANDED_BACK = """
    select count(*), count(*) filter (where n.attempt = e.attempt)
    from rota.executions as e
    inner join rota.worker_status as w on w.id = e.worker_id
    left join rota.executions as n
        on n.job_id = e.job_id and n.execution = e.execution + 1
    where w.name = %s and e.outcome = %s
"""


@dataclass(frozen=True, slots=True)
class Row:
    """A number that was found and the one that it has to be."""

    name: str
    found: int
    expected: int

    @property
    def is_off(self) -> bool:
        """Whether the two differ."""
        return self.found != self.expected


@dataclass(frozen=True, slots=True)
class Seen:
    """What was seen on the way: the numbers that nobody could know beforehand.

    killed, drained: names of the workers.
    held_count: jobs that the killed worker ran when it died.
    released_count: jobs that the drained worker ran and could not finish.
    replayed_count: jobs that replay_dead returned.
    """

    killed: str
    held_count: int
    drained: str
    released_count: int
    replayed_count: int


@dataclass(frozen=True, slots=True)
class Report:
    """The account, and how many files are right."""

    rows: list[Row]
    file_count: int
    right_count: int
    missing_count: int
    twice_count: int

    @property
    def is_right(self) -> bool:
        """Whether every number is what it has to be."""
        return not any(row.is_off for row in self.rows)

    @property
    def last_line(self) -> str:
        """The demo in one line."""
        counts = (
            (self.file_count, "files"),
            (self.right_count, "right"),
            (self.missing_count, "missing"),
            (self.twice_count, "twice"),
        )
        return "demo: " + ", ".join(f"{grouped(n)} {what}" for n, what in counts)


def grouped(number: int) -> str:
    """Write a number in groups of three digits."""
    return f"{number:,}".replace(",", " ")


def report(connection: Connection, plans: Sequence[Plan], seen: Seen) -> Report:
    """Read the database and the files again, and set one beside the other."""
    poisoned_count = sum(p.is_poisoned for p in plans)
    (retried,) = _one(connection, RETRIED)
    lost, lost_refunded = _one(connection, HANDED_BACK, seen.killed, "lost")
    released, released_refunded = _one(
        connection, HANDED_BACK, seen.drained, "released"
    )
    job_count, completed_count = _one(
        connection,
        "select count(*), count(*) filter (where state = 'completed') from rota.jobs",
    )
    (dead_count,) = _one(
        connection,
        "select count(distinct job_id) from rota.executions"
        f" where outcome = 'failed' and attempt = {MAX_ATTEMPTS}",
    )
    written = _written(connection)
    wrong_count = sum(
        any(s != _sum(p) for s in written[p.uri]) for p in plans if p.uri in written
    )
    missing_count = sum(p.uri not in written for p in plans)
    twice_count = sum(len(sums) > 1 for sums in written.values())
    rows = [
        Row("files", job_count, len(plans)),
        Row("completed", completed_count, len(plans)),
        Row("failed attempts, tried again", retried, _retries(plans)),
        Row("leases lost with the killed worker", lost, seen.held_count),
        Row("  of them refunded", lost_refunded, seen.held_count),
        Row("handed back by the drained worker", released, seen.released_count),
        Row("  of them charged", released - released_refunded, 0),
        Row("dead", dead_count, poisoned_count),
        Row("replayed", seen.replayed_count, poisoned_count),
        Row("charged more or less than they failed", _mischarged(connection, plans), 0),
        Row("wrong", wrong_count, 0),
        Row("missing", missing_count, 0),
        Row("twice", twice_count, 0),
    ]
    return Report(
        rows,
        file_count=len(plans),
        right_count=len(plans) - wrong_count - missing_count,
        missing_count=missing_count,
        twice_count=twice_count,
    )


def _one(connection: Connection, query: str, *parameters: str) -> tuple[int, ...]:
    row = connection.execute(query.encode(), parameters).fetchone()
    assert row is not None
    return row


def _written(connection: Connection) -> dict[str, list[str]]:
    """Return what the jobs wrote: the checksums of each file."""
    written: dict[str, list[str]] = defaultdict(list)
    for file, checksum in connection.execute("select file, sum from demo.checksum"):
        written[file].append(checksum)
    return written


def _sum(one: Plan) -> str:
    with one.path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _retries(plans: Sequence[Plan]) -> int:
    """Count failures but for the last ones of those that died."""
    return sum(min(p.failure_count, MAX_ATTEMPTS - 1) for p in plans)


def _mischarged(connection: Connection, plans: Sequence[Plan]) -> int:
    """Count jobs whose attempts are not their failures and the one that succeeded.

    Replaying starts the count again.
    """
    attempts: dict[str, int] = dict(
        connection.execute(
            "select payload ->> 'file', attempt from rota.jobs"
        ).fetchall()
    )
    return sum(
        attempts.get(p.uri) != 1 + (0 if p.is_poisoned else p.failure_count)
        for p in plans
    )
