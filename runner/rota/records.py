"""What goes to the schema's verbs and comes back: fields are named as in SQL.

What there is one of for each job that runs is a NamedTuple, which costs the least to
make and to look up; the others are frozen dataclasses.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from datetime import datetime, timedelta


@dataclass(frozen=True, slots=True)
class EnqueuedJob:
    """A job's id; `is_new` is false when the idempotency key had it already."""

    id: int
    is_new: bool


class JobRef(NamedTuple):
    """One execution of a job: the fencing token."""

    id: int
    execution: int


@dataclass(frozen=True, slots=True)
class SettledJob:
    """A job after its execution ended; `run_at` is None when it will not run again."""

    id: int
    state: str
    run_at: datetime | None


class ClaimedJob(NamedTuple):
    """A job handed out.

    `payload` is JSON text, read when the job runs: one that Python cannot read fails
    its own job and no other. The instants are seconds since 1970.
    """

    id: int
    execution: int
    attempt: int
    max_attempts: int
    queue: str
    priority: int
    kind: str
    payload: str
    timeout: timedelta | None
    run_at: float
    created_at: float

    @property
    def token(self) -> JobRef:
        """The fencing token."""
        return JobRef(self.id, self.execution)


@dataclass(frozen=True, slots=True)
class Maintained:
    """What one round of maintenance did."""

    promoted_count: int
    lost_worker_count: int
    returned_count: int
    timed_out_count: int
    purged_count: int
    next_due_at: datetime | None


class Completed(NamedTuple):
    """An execution that finished its job; `result` is JSON text, None for no result."""

    id: int
    execution: int
    result: str | None


@dataclass(frozen=True, slots=True)
class Returned:
    """An execution that ended without finishing its job; `delay` in seconds."""

    id: int
    execution: int
    outcome: Literal["failed", "timed_out", "released", "snoozed"]
    error: str | None = None
    retryable: bool = True
    delay: float | None = None


@dataclass(frozen=True, slots=True)
class Exchange:
    """The answer to an exchange.

    `due_in` is when the next scheduled job falls due, in seconds; None: there is none.
    """

    claimed: list[ClaimedJob]
    refused: list[JobRef]
    cancelled: list[JobRef]
    due_in: float | None
