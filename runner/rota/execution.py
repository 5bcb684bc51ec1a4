"""Running one claimed job: from the hand-out to what is to be recorded of it."""

from __future__ import annotations

import asyncio
import contextvars
import json
import logging
from typing import TYPE_CHECKING, Literal, TypeAlias, cast

from rota.app import Discard, Retry, Snooze, Verdict
from rota.job import Job
from rota.records import Completed, Returned
from rota.text import NotJson, json_text, storable, traceback_text

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

    on_decision: called once with what is to be recorded, None for nothing. That can be
        before the handler returns: a function in a thread cannot be ended.
    on_return: called once when the handler has returned.
    """

    def __init__(
        self,
        claimed: ClaimedJob,
        handler: Handler | None,
        effects: Effects,
        on_decision: Callable[[Settlement | None], None],
        on_return: Callable[[], None],
    ) -> None:
        self._claimed = claimed
        self._handler = handler
        self._effects = effects
        self._on_decision = on_decision
        self._on_return = on_return
        self._job: Job | None = None
        self._work: asyncio.Future[Settlement | None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._why: Stop | None = None
        self._is_decided = False
        self._ids = {
            "job_id": claimed.id,
            "execution": claimed.execution,
            "kind": claimed.kind,
            "queue": claimed.queue,
        }

    def start(self, threads: Executor) -> None:
        """Run the handler, as a task or in one of the threads."""
        try:
            payload = json.loads(self._claimed.payload)
        except (ValueError, RecursionError) as unreadable:
            error = f"payload cannot be read: {unreadable}"
            self._decide(self._end("failed", error=error, retryable=False))
            self._on_return()
            return
        if self._handler is None:
            error = f"no handler for kind {self._claimed.kind}"
            self._decide(self._end("failed", error=error))
            self._on_return()
            return
        loop = asyncio.get_running_loop()
        self._job = job = Job(self._claimed, payload, self._effects)
        if self._handler.is_async:
            self._work = loop.create_task(self._call_async(self._handler, job))
        else:
            run = contextvars.copy_context().run
            self._work = loop.run_in_executor(
                threads, run, self._call, self._handler, job
            )
        self._work.add_done_callback(self._returns)
        if timeout := self._claimed.timeout:
            self._timer = loop.call_later(
                timeout.total_seconds(), self.stop, "timed_out"
            )

    def cancel(self) -> None:
        """Tell the handler to end; how it ends is then up to it."""
        if self._job and not self._job.cancelled.is_set():
            self._job.cancelled.set()
            self._interrupt()

    def stop(self, why: Stop) -> None:
        """End the execution, whether the handler ends or not."""
        if self._why or self._is_decided or not (self._job and self._handler):
            return
        self._why = why
        self._job.cancelled.set()
        self._interrupt()
        if self._handler.is_async:
            loop = asyncio.get_running_loop()
            loop.call_later(CLEANUP_SECONDS, self._decide_stopped, None)
        else:
            self._decide_stopped(None)

    def _interrupt(self) -> None:
        if self._work and self._handler and self._handler.is_async:
            self._work.cancel()

    def _returns(self, work: asyncio.Future[Settlement | None]) -> None:
        if self._timer:
            self._timer.cancel()
        own = self._own_outcome(work)
        if self._why:
            self._decide_stopped(own)
        else:
            self._decide(own)
        self._on_return()

    def _decide(self, settlement: Settlement | None) -> None:
        if not self._is_decided:
            self._is_decided = True
            self._log(settlement)
            self._on_decision(settlement)

    def _log(self, settlement: Settlement | None) -> None:
        outcome, level = "completed", logging.DEBUG
        if isinstance(settlement, Returned):
            outcome, level = settlement.outcome, logging.INFO
        elif self._why == "lost":
            outcome, level = "lost", logging.INFO
        logger.log(
            level,
            "job %s of kind %s: %s",
            *(self._claimed.id, self._claimed.kind, outcome),
            extra={**self._ids, "outcome": outcome},
        )

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

    def _own_outcome(
        self, work: asyncio.Future[Settlement | None]
    ) -> Settlement | None:
        if work.cancelled():  # before it began
            return self._end("failed", error="cancelled")
        if error := work.exception():
            return self._end("failed", error=traceback_text(error))
        return work.result()

    def _call(self, handler: Handler, job: Job) -> Settlement | None:
        try:
            return self._returned(handler.function(job), job)
        except BaseException as error:  # noqa: BLE001 - whatever the handler raises
            return self._raised(error, job)

    async def _call_async(self, handler: Handler, job: Job) -> Settlement | None:
        try:
            awaitable = cast("Awaitable[object]", handler.function(job))
            return self._returned(await awaitable, job)
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
