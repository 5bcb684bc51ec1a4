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

    from rota.app import App, Handler
    from rota.connections import Effects
    from rota.records import ClaimedJob

logger = logging.getLogger("rota")

Settlement: TypeAlias = Completed | Returned
# Why an execution is ended from outside: handed back, or its lease was lost and it has
# nothing left to say.
Stop: TypeAlias = Literal["released", "lost"]
Ending: TypeAlias = Literal["failed", "timed_out", "released", "snoozed"]

# What a coroutine has, from its CancelledError on, to tidy up before its execution is
# recorded as over. Well within the time after which the database does that itself.
CLEANUP_SECONDS = 1.0


class Execution:
    """One execution of one job by one handler."""

    def __init__(
        self, claimed: ClaimedJob, app: App, effects: Effects, threads: Executor
    ) -> None:
        self._claimed = claimed
        self._handler = app.find(claimed.kind)
        self._effects = effects
        self._threads = threads
        self._stop: asyncio.Future[Stop] = asyncio.get_running_loop().create_future()
        self._job: Job | None = None
        self._work: asyncio.Future[Settlement | None] | None = None
        self.ids = {
            "job_id": claimed.id,
            "execution": claimed.execution,
            "kind": claimed.kind,
            "queue": claimed.queue,
        }

    async def run(self, settle: Callable[[Settlement | None], None]) -> None:
        """Run the handler; return when it has returned.

        settle: called once, with what is to be recorded, None for nothing. That may be
            before the return: a function in a thread cannot be ended from outside.
        """
        try:
            payload = json.loads(self._claimed.payload)
        except (ValueError, RecursionError) as unreadable:
            error = f"payload cannot be read: {unreadable}"
            settle(self._end("failed", error=error, retryable=False))
            return
        if self._handler is None:
            error = f"no handler for kind {self._claimed.kind}"
            settle(self._end("failed", error=error))
            return
        self._job = Job(self._claimed, payload, self._effects)
        self._work = self._start(self._handler, self._job)
        timeout = self._claimed.timeout
        await asyncio.wait(
            cast("set[asyncio.Future[object]]", {self._work, self._stop}),
            timeout=None if timeout is None else timeout.total_seconds(),
            return_when=asyncio.FIRST_COMPLETED,
        )
        if self._work.done():
            settle(self._outcome(self._work))
            return
        self.cancel()
        if self._handler.is_async:
            await asyncio.wait({self._work}, timeout=CLEANUP_SECONDS)
        settle(self._cut_short(self._work))
        await asyncio.wait({self._work})

    def cancel(self) -> None:
        """Tell the handler to end; how it ends is then up to it."""
        if self._job and not self._job.cancelled.is_set():
            self._job.cancelled.set()
            if self._work and self._handler and self._handler.is_async:
                self._work.cancel()

    def stop(self, why: Stop) -> None:
        """End the execution whether the handler ends or not."""
        if not self._stop.done():
            self._stop.set_result(why)

    def _start(self, handler: Handler, job: Job) -> asyncio.Future[Settlement | None]:
        if handler.is_async:
            return asyncio.ensure_future(self._call_async(handler, job))
        context = contextvars.copy_context()
        return asyncio.get_running_loop().run_in_executor(
            self._threads, context.run, self._call, handler, job
        )

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

    def _outcome(self, work: asyncio.Future[Settlement | None]) -> Settlement | None:
        """Return what the handler's own end says; a task may end before it began."""
        if work.cancelled():
            return self._end("failed", error="cancelled")
        return work.result()

    def _cut_short(self, work: asyncio.Future[Settlement | None]) -> Settlement | None:
        """Return what to record of a handler that was stopped or ran out of time."""
        why = self._stop.result() if self._stop.done() else "timed_out"
        outcome = self._outcome(work) if work.done() else None
        if why == "lost" or (self._job and self._job.is_completed):
            return None
        if why == "timed_out":
            error = f"timed out after {self._claimed.timeout}"
            return self._end("timed_out", error=error)
        return outcome if isinstance(outcome, Completed) else self._end("released")

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
                extra=self.ids,
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
