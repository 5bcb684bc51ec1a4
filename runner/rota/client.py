"""Enqueueing from Python, inside the caller's transaction.

Each verb exists for both kinds of connection. Nothing is committed here: the job
appears together with what else the transaction wrote, or not at all. On a connection in
autocommit mode it appears at once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypedDict, TypeVar, Unpack

from rota import protocol
from rota.errors import InvalidArgument
from rota.text import Json, NotJson, json_text, storable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from datetime import datetime, timedelta

    from rota.protocol import AsyncConnection, Call, Connection, OnDuplicate
    from rota.records import EnqueuedJob

T = TypeVar("T", str, str | None)
N = TypeVar("N", int, int | None)
V = TypeVar("V")
A = TypeVar("A")
B = TypeVar("B")
_EMPTY: dict[str, Json] = {}


class BatchOptions(TypedDict, total=False):
    """What holds for every job of one call; what is left out is the queue's default.

    on_duplicate: keep (default) returns the living job of that idempotency key, replace
        overwrites it while it waits, reject raises DuplicateKey.
    key_ttl: how long after its end a job still holds its key. None: not at all.
    timeout: how long one execution may run. None: the queue's.
    """

    queue: str
    on_duplicate: OnDuplicate
    key_ttl: timedelta | None
    max_attempts: int | None
    retry_policy: str | None
    timeout: timedelta | None


class JobOptions(BatchOptions, total=False):
    """What may be said of a single job.

    priority: higher runs first, default 0.
    run_at, delay: not before that instant, which must have a time zone; or for so long.
        At most one of the two. By the database's clock.
    """

    priority: int
    run_at: datetime | None
    delay: timedelta | None
    idempotency_key: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewJob:
    """A job for `enqueue_jobs`; the fields mean what they mean in `JobOptions`."""

    kind: str
    payload: Json = field(default_factory=dict)
    priority: int = 0
    run_at: datetime | None = None
    delay: timedelta | None = None
    idempotency_key: str | None = None


def enqueue(
    connection: Connection,
    kind: str,
    payload: Json = _EMPTY,
    **options: Unpack[JobOptions],
) -> int:
    """Add one job and return its id.

    payload: anything JSON has a word for; None is JSON's null, the default is {}.

    Raises InvalidArgument, QueueNotFound, TooLarge, DuplicateKey. As with any error of
    a statement, PostgreSQL then takes no more in the caller's transaction.
    """
    return _enqueue(kind, payload, options).on(connection)


async def enqueue_async(
    connection: AsyncConnection,
    kind: str,
    payload: Json = _EMPTY,
    **options: Unpack[JobOptions],
) -> int:
    """Do as `enqueue` does, on an asynchronous connection."""
    return await _enqueue(kind, payload, options).on_async(connection)


def enqueue_jobs(
    connection: Connection, jobs: Iterable[NewJob], **options: Unpack[BatchOptions]
) -> list[EnqueuedJob]:
    """Add any number of jobs in one statement: all of them or, on an error, none.

    Returns id and is_new of each, in the order given. Raises as `enqueue` does; the
    error's `detail` then names the job, counting from 1.
    """
    return _enqueue_jobs(jobs, options).on(connection)


async def enqueue_jobs_async(
    connection: AsyncConnection, jobs: Iterable[NewJob], **options: Unpack[BatchOptions]
) -> list[EnqueuedJob]:
    """Do as `enqueue_jobs` does, on an asynchronous connection."""
    return await _enqueue_jobs(jobs, options).on_async(connection)


def _enqueue(kind: str, payload: Json, options: JobOptions) -> Call[int]:
    run_at = _aware(options.get("run_at"), "run_at")
    return protocol.enqueue(
        kind=_text(kind, "kind"),
        payload=_payload(payload, "payload"),
        queue=_text(options.get("queue", "default"), "queue"),
        priority=_integer(options.get("priority", 0), "priority"),
        run_at=run_at,
        delay=options.get("delay"),
        idempotency_key=_text(options.get("idempotency_key"), "idempotency_key"),
        on_duplicate=options.get("on_duplicate", "keep"),
        key_ttl=options.get("key_ttl"),
        max_attempts=_integer(options.get("max_attempts"), "max_attempts"),
        retry_policy=_text(options.get("retry_policy"), "retry_policy"),
        timeout=options.get("timeout"),
    )


def _enqueue_jobs(
    jobs: Iterable[NewJob], options: BatchOptions
) -> Call[list[EnqueuedJob]]:
    jobs = list(jobs)
    kinds = [job.kind for job in jobs]
    return protocol.enqueue_jobs(
        # A single kind stands for all jobs.
        kinds=_each(_text, kinds[:1] if len(set(kinds)) == 1 else kinds, "kind"),
        payloads=_each(_payload, [job.payload for job in jobs], "payload"),
        queue=_text(options.get("queue", "default"), "queue"),
        priorities=_unless_all(
            0, _each(_integer, [job.priority for job in jobs], "priority")
        ),
        run_ats=_unless_all(
            None, _each(_aware, [job.run_at for job in jobs], "run_at")
        ),
        delays=_unless_all(None, [job.delay for job in jobs]),
        idempotency_keys=_unless_all(
            None,
            _each(_text, [job.idempotency_key for job in jobs], "idempotency_key"),
        ),
        on_duplicate=options.get("on_duplicate", "keep"),
        key_ttl=options.get("key_ttl"),
        max_attempts=_integer(options.get("max_attempts"), "max_attempts"),
        retry_policy=_text(options.get("retry_policy"), "retry_policy"),
        timeout=options.get("timeout"),
    )


def _each(check: Callable[[A, str], B], values: Sequence[A], name: str) -> list[B]:
    """Check all values; the error about one names its job, counting from 1."""
    try:
        return [check(value, name) for value in values]
    except InvalidArgument:
        for number, value in enumerate(values, start=1):
            check(value, f"{name} of job {number}")
        raise


def _unless_all(default: V, values: list[V]) -> list[V] | None:
    """Return the values, or None, which says the same: arrays cost the server time."""
    return values if any(value != default for value in values) else None


def _text(value: T, name: str) -> T:
    if value is not None and storable(value, len(value)) != value:
        raise InvalidArgument("text holds NUL or a lone surrogate", detail=name)
    return value


def _integer(value: N, name: str) -> N:
    if value is not None and not -(2**31) <= value < 2**31:
        raise InvalidArgument("number is out of range", detail=name)
    return value


def _aware(value: datetime | None, name: str) -> datetime | None:
    if value is not None and value.utcoffset() is None:
        raise InvalidArgument("instant has no time zone", detail=name)
    return value


def _payload(value: Json, name: str) -> str:
    try:
        return json_text(value)
    except NotJson as error:
        raise InvalidArgument(
            "value cannot be stored as JSON", detail=f"{name}: {error}"
        ) from error
