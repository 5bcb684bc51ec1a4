"""What a handler is given: the job, and a transaction that completes it."""

from __future__ import annotations

import threading
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from rota import protocol
from rota.text import Json, json_text

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from datetime import timedelta
    from types import TracebackType

    from rota.connections import Effects
    from rota.protocol import AsyncConnection, Connection
    from rota.records import ClaimedJob


class Job:
    """One execution of a job.

    id, execution: together the fencing token; an outside system that remembers the
        highest execution it has seen can refuse a late one.
    attempt: 1 for the first run that is charged.
    timeout: after it the execution is over, whatever the handler does. None: no limit.
    result: what `transaction` stores as the result when its block ends.
    """

    def __init__(self, claimed: ClaimedJob, payload: Json, effects: Effects) -> None:
        self.id: int = claimed.id
        self.execution: int = claimed.execution
        self.attempt: int = claimed.attempt
        self.max_attempts: int = claimed.max_attempts
        self.queue: str = claimed.queue
        self.priority: int = claimed.priority
        self.kind: str = claimed.kind
        self.payload: Json = payload
        self.timeout: timedelta | None = claimed.timeout
        self.result: Json = None
        self._claimed = claimed
        self._effects = effects
        self._is_cancelled = False
        self._is_completed = False

    @property
    def run_at(self) -> datetime:
        """Not before this instant was the job to run."""
        return datetime.fromtimestamp(self._claimed.run_at, UTC)

    @property
    def created_at(self) -> datetime:
        """When the job was enqueued."""
        return datetime.fromtimestamp(self._claimed.created_at, UTC)

    @property
    def cancelled(self) -> threading.Event:
        """Set when this execution should end.

        A cancellation was asked for, its time is up, or the runner stops. Functions in
        threads look at it; a coroutine gets CancelledError as well.
        """
        # Made when first asked for, in whatever thread that is: setdefault is atomic,
        # and whichever of asking and `_cancel` comes second sees the other.
        event: threading.Event = vars(self).setdefault("_event", threading.Event())
        if self._is_cancelled:
            event.set()
        return event

    def _cancel(self) -> None:
        self._is_cancelled = True
        if event := vars(self).get("_event"):
            event.set()

    @property
    def is_completed(self) -> bool:
        """Whether a `transaction` of this job has been committed."""
        return self._is_completed

    def transaction(self) -> JobTransaction:
        """Open a transaction in which the handler's effects and the completion commit.

        To be used with ``async with`` in a coroutine and with ``with`` in a function;
        gives a psycopg connection of its own to the runner's database. When the block
        ends, the job is completed with `result` and everything is committed at once; if
        the block raises, or the job was meanwhile handed to another execution
        (LeaseLost), nothing is. What the handler returns afterwards is not recorded.

        Raises RuntimeError when the job has been completed already.
        """
        if self._is_completed:
            raise RuntimeError("the job has been completed by a transaction already")
        return JobTransaction(self)

    @contextmanager
    def _transaction(self) -> Iterator[Connection]:
        with self._effects.connection() as connection, connection.transaction():
            yield connection
            self._completion().on(connection)
        self._is_completed = True

    @asynccontextmanager
    async def _transaction_async(self) -> AsyncIterator[AsyncConnection]:
        async with (
            self._effects.connection_async() as connection,
            connection.transaction(),
        ):
            yield connection
            await self._completion().on_async(connection)
        self._is_completed = True

    def _completion(self) -> protocol.Call[None]:
        result = None if self.result is None else json_text(self.result)
        return protocol.complete_job(
            id=self.id, execution=self.execution, result=result
        )


class JobTransaction:
    """The block of `Job.transaction`, for ``with`` and for ``async with``."""

    def __init__(self, job: Job) -> None:
        self._sync = job._transaction()
        self._async = job._transaction_async()

    def __enter__(self) -> Connection:
        return self._sync.__enter__()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        return self._sync.__exit__(kind, error, trace)

    async def __aenter__(self) -> AsyncConnection:
        return await self._async.__aenter__()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        return await self._async.__aexit__(kind, error, trace)
