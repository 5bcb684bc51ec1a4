"""Running one claimed job: from the hand-out to what is to be recorded of it."""

from __future__ import annotations

import asyncio
import contextvars
import logging
from typing import TYPE_CHECKING, Literal, TypeAlias, cast

from rota.app import Discard, Retry, Snooze, Verdict
from rota.job import Job
from rota.records import Completed, Returned
from rota.text import NotJson, json_text, read_json, storable, traceback_text

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from concurrent.futures import Executor
    from datetime import timedelta

    from rota.app import Handler
    from rota.connections import Effects
    from rota.records import ClaimedJob

logger = logging.getLogger("rota")

Settlement: TypeAlias = Completed | Returned
# Why an execution is ended from outside. One whose lease was lost has no say any more.
Stop: TypeAlias = Literal["timed_out", "released", "lost"]
Ending: TypeAlias = Literal["failed", "timed_out", "released", "snoozed"]

# What a coroutine has, from its CancelledError on, to tidy up before its execution is
# recorded as over. Well within the time after which the database does that itself.
CLEANUP_SECONDS = 1.0


class Execution:
    """One execution of one job by one handler.

    token: the fencing token.
    arrived_at: when the job was handed out, in the worker's monotonic seconds.
    on_decision: called once with this execution and what is to be recorded, None for
        nothing. That can be before the handler returns: a function in a thread cannot
        be ended.
    """

    __slots__ = (
        "_claimed",
        "_effects",
        "_handler",
        "_is_decided",
        "_job",
        "_on_decision",
        "_task",
        "_timer",
        "_why",
        "arrived_at",
        "token",
    )

    def __init__(
        self,
        claimed: ClaimedJob,
        handler: Handler | None,
        effects: Effects,
        arrived_at: float,
        on_decision: Callable[[Execution, Settlement | None], None],
    ) -> None:
        self.arrived_at = arrived_at
        self.token = claimed.token
        self._claimed = claimed
        self._handler = handler
        self._effects = effects
        self._on_decision = on_decision
        self._job: Job | None = None
        self._task: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._why: Stop | None = None
        self._is_decided = False

    @property
    def has_begun(self) -> bool:
        """Whether the handler was called."""
        return self._job is not None

    @property
    def is_stopped(self) -> bool:
        """Whether it was ended from outside; its handler may go on all the same."""
        return self._why is not None

    async def run(self, task: asyncio.Task[None], threads: Executor) -> None:
        """Run the handler to its end: in this task, or in one of the threads."""
        if self._is_decided:
            return
        handler = self._handler
        try:
            payload = read_json(self._claimed.payload)
        except (ValueError, RecursionError) as unreadable:
            error = f"payload cannot be read: {unreadable}"
            self._decide(self._end("failed", error=error, retryable=False))
            return
        if handler is None:
            error = f"no handler for kind {self._claimed.kind}"
            self._decide(self._end("failed", error=error))
            return
        self._job = job = Job(self._claimed, payload, self._effects)
        if timeout := self._claimed.timeout:
            loop = asyncio.get_running_loop()
            seconds = timeout.total_seconds()
            self._timer = loop.call_later(seconds, self.stop, "timed_out")
        if handler.is_async:
            self._task = task
            try:
                awaitable = cast("Awaitable[object]", handler.function(job))
                own = self._returned(await awaitable, job)
            except BaseException as error:  # noqa: BLE001 - whatever the handler raises
                own = self._raised(error, job)
            self._task = None
        else:
            own = await self._run_in(threads, handler, job)
        if self._timer:
            self._timer.cancel()
        if self._why:
            self._decide_stopped(own)
        else:
            self._decide(own)

    async def _run_in(
        self, threads: Executor, handler: Handler, job: Job
    ) -> Settlement | None:
        loop = asyncio.get_running_loop()
        run = contextvars.copy_context().run
        return await loop.run_in_executor(threads, run, self._call, handler, job)

    def cancel(self) -> None:
        """Tell the handler to end; how it ends is then up to it."""
        if not self._job:
            self.stop("released")
        elif not self._job._is_cancelled:
            self._interrupt(self._job)

    def stop(self, why: Stop) -> None:
        """End the execution, whether the handler ends or not."""
        if self._why or self._is_decided:
            return
        self._why = why
        if self._job:
            self._interrupt(self._job)
        if self._task:
            loop = asyncio.get_running_loop()
            loop.call_later(CLEANUP_SECONDS, self._decide_stopped, None)
        else:
            self._decide_stopped(None)

    def _interrupt(self, job: Job) -> None:
        job._cancel()
        if self._task:
            self._task.cancel()

    def _decide(self, settlement: Settlement | None) -> None:
        if self._is_decided:
            return
        self._is_decided = True
        if isinstance(settlement, Completed):
            if logger.isEnabledFor(logging.DEBUG):
                self._log(logging.DEBUG, "completed")
        elif isinstance(settlement, Returned):
            self._log(logging.INFO, settlement.outcome)
        elif self._why == "lost":
            self._log(logging.INFO, "lost")
        else:
            self._log(logging.DEBUG, "completed")
        self._on_decision(self, settlement)

    def _log(self, level: int, outcome: str) -> None:
        logger.log(
            level,
            "job %s of kind %s: %s",
            *(self._claimed.id, self._claimed.kind, outcome),
            extra={**self._ids, "outcome": outcome},
        )

    @property
    def _ids(self) -> dict[str, object]:
        return {
            "job_id": self._claimed.id,
            "execution": self._claimed.execution,
            "kind": self._claimed.kind,
            "queue": self._claimed.queue,
        }

    def _decide_stopped(self, own: Settlement | None) -> None:
        """Decide on a handler that was stopped; own: what it says, if it returned."""
        if self._why == "lost" or (self._job and self._job.is_completed):
            self._decide(None)
        elif self._why == "timed_out":
            error = f"timed out after {self._claimed.timeout}"
            self._decide(self._end("timed_out", error=error))
        else:
            is_done = isinstance(own, Completed)
            self._decide(own if is_done else self._end("released"))

    def _call(self, handler: Handler, job: Job) -> Settlement | None:
        try:
            return self._returned(handler.function(job), job)
        except BaseException as error:  # noqa: BLE001 - whatever the handler raises
            return self._raised(error, job)

    def _returned(self, value: object, job: Job) -> Settlement | None:
        if isinstance(value, Verdict):
            raise value
        if job.is_completed:
            return None
        result = None if value is None else json_text(value)
        return Completed(job.id, job.execution, result)

    def _raised(self, error: BaseException, job: Job) -> Settlement | None:
        if job.is_completed:
            logger.warning(
                "handler of job %s raised %s after the job was completed",
                *(job.id, type(error).__name__),
                extra=self._ids,
            )
            return None
        try:
            return self._judged(error)
        except Exception as odd:  # noqa: BLE001 - a delay may be anything
            return self._end("failed", error=traceback_text(odd))

    def _judged(self, error: BaseException) -> Returned:
        match error:
            case Snooze():
                return self._end("snoozed", delay=error.delay)
            case Discard():
                return self._end("failed", error=error.reason, retryable=False)
            case Retry():
                return self._end("failed", error=error.reason, delay=error.delay)
            case NotJson():
                # The handler did its work; doing it again would not help the result.
                reason = f"result cannot be stored as JSON: {error}"
                return self._end("failed", error=reason, retryable=False)
        return self._end("failed", error=traceback_text(error))

    def _end(
        self,
        outcome: Ending,
        *,
        error: str | None = None,
        retryable: bool = True,
        delay: timedelta | None = None,
    ) -> Returned:
        return Returned(
            self._claimed.id,
            self._claimed.execution,
            outcome,
            None if error is None else storable(error),
            retryable,
            None if delay is None else delay.total_seconds(),
        )
