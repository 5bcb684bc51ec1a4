"""The runner's loop: settle, beat and claim in one exchange, while handlers run."""

from __future__ import annotations

import asyncio
import logging
import math
import os
import random
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from typing import TYPE_CHECKING

import psycopg

from rota.connections import PREPARE_AFTER, Backoff, Effects, connect, reason
from rota.errors import RotaError, WorkerLost
from rota.execution import Execution
from rota.pace import GATHERING_SECONDS, Pace
from rota.records import Returned
from rota.session import Session
from rota.slots import Slots
from rota.wakeups import Wakeups

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence

    from rota.app import App
    from rota.connections import Connection
    from rota.execution import Settlement, Stop
    from rota.protocol import Answer
    from rota.records import ClaimedJob, Exchange

logger = logging.getLogger("rota")

MAINTENANCE_SECONDS = 5.0
# However close together jobs fall due, maintenance is not called more often than this;
# nor than that, when it found nothing to promote though something was due.
DUE_PAUSE_SECONDS = 0.05
OVERDUE_PAUSE_SECONDS = 1.0
# What a runner that has to end may still take to say what became of its jobs.
LAST_WORDS_SECONDS = 1.8
# A job fetched ahead that is not begun within this time goes back: handlers have turned
# out slow, and another runner may have a slot.
PATIENCE_SECONDS = 0.2
# How long a result waits for others, or for a job to claim, with which to be sent.
COMPANY_SECONDS = 0.005

TRANSIENT = (
    psycopg.OperationalError,
    psycopg.InterfaceError,
    OSError,
    TimeoutError,
)


class Worker:
    """Claims jobs of some queues and runs them, up to `concurrency` at once.

    dsn: where the database is, in any form libpq knows. "": the PG* variables.
    lease: how long the process may be silent before its jobs go to others; it speaks
        at least three times in each.
    grace: how long handlers may still run after `drain`.
    poll: how often an idle worker asks when nobody woke it.
    is_listening: false for a pooler in transaction mode: no wake-ups, and no prepared
        statements.
    listen_dsn: if `dsn` leads to such a pooler, where the server itself is: only
        wake-ups are heard there, on one connection. None: they are heard at `dsn`.
    name: for people who look at worker_status. None: host and process.
    clock: monotonic seconds.
    """

    def __init__(
        self,
        app: App,
        dsn: str = "",
        *,
        queues: Sequence[str] = ("default",),
        concurrency: int = 10,
        lease: timedelta = timedelta(seconds=30),
        grace: timedelta = timedelta(seconds=30),
        poll: timedelta = timedelta(seconds=5),
        is_listening: bool = True,
        listen_dsn: str | None = None,
        name: str | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if isinstance(queues, str) or not queues:
            raise ValueError("queues must be a list of at least one name")
        if concurrency < 1:
            raise ValueError("concurrency must be positive")
        self._app = app
        self._dsn = dsn
        self._queues = list(queues)
        self._concurrency = concurrency
        self._lease = lease
        self._grace = grace.total_seconds()
        self._poll = poll.total_seconds()
        self._is_listening = is_listening
        self._listen_dsn = dsn if listen_dsn is None else listen_dsn
        is_direct = is_listening and listen_dsn is None
        self._prepare_after = PREPARE_AFTER if is_direct else None
        self._clock = clock

        self._session = Session(
            name or f"{socket.gethostname()}:{os.getpid()}",
            queues,
            lease,
            app.schedules,
            clock,
        )
        # A job is open until it is decided what to record of it, which then waits for
        # the next exchange; its slot is taken until the handler has returned.
        self._open: set[Execution] = set()
        self._slots = Slots(concurrency, PATIENCE_SECONDS, self._be_free, clock)
        self._pace = Pace()
        self._paced = (0, 0.0)
        self._reading: asyncio.Task[None] | None = None
        self._unread_count = 0
        self._claimed_count = 0
        self._may_have_more = True
        self._was_told_of_more = False
        self._is_serving = False
        self._unfinished_count = 0
        self._wake = asyncio.Event()
        self._sending: asyncio.TimerHandle | None = None
        self._asked_at = -math.inf
        self._maintain_at = -math.inf
        self._maintained_at = -math.inf
        self._maintainable_at = -math.inf
        self._drain_begun = asyncio.Event()
        self._logged_at = -math.inf
        self._is_connected = False
        self._given_up: asyncio.Future[None] | None = None

    @property
    def has_stragglers(self) -> bool:
        """After `run`: whether something runs on that only the process can end."""
        return self._slots.running_count > 0 or not self._work_task.done()

    async def run(self) -> int:
        """Work until `drain` or `stop`; return how many jobs were not finished.

        Those were handed back uncharged or, with the database away, are left to the
        lease. A lost database ends nothing: the worker tries again for ever.

        Raises SchemaError when the database has no rota that fits; and, as long as no
        exchange has succeeded, RotaError or psycopg.Error for what another try does not
        mend (an unknown queue, a missing privilege).
        """
        self._is_serving = True
        self._given_up = given_up = asyncio.get_running_loop().create_future()
        if not self._is_listening:
            logger.info(
                "no wake-ups: looking for jobs every %g seconds",
                self._poll,
                extra=self._session.ids,
            )
        async with self._resources(is_listening=self._is_listening):
            self._work_task = work = asyncio.create_task(self._work())
            try:
                await asyncio.wait(
                    {work, given_up}, return_when=asyncio.FIRST_COMPLETED
                )
                if work.done():
                    await work
            finally:
                work.cancel()
        return self._unfinished_count + len(self._open) + len(self._session.settlements)

    async def run_once(self) -> int:
        """Claim up to `concurrency` jobs, run them to their end; return how many.

        For tests, and for runs from a shell or a timer. What is due is promoted first.
        Raises as `run` does, and psycopg.OperationalError when the database is away.
        """
        async with (
            self._resources(is_listening=False),
            await connect(self._dsn, self._prepare_after) as connection,
        ):
            await self._session.begin(connection, self._open)
            await self._maintain(connection)
            await self._exchange(connection, self._concurrency)
            while self._open or self._session.settlements:
                await self._sleep()
                await self._exchange(connection, 0)
            await self._session.leave(connection)
        return self._claimed_count

    def drain(self) -> None:
        """Claim no more, and end `run` when all is done or the grace time is over."""
        self._end_within(self._grace)

    def stop(self) -> None:
        """End `run` within two seconds, handing back what runs."""
        self._end_within(0)

    def _end_within(self, seconds: float) -> None:
        is_idle = not (self._is_connected or self._open or self._session.settlements)
        loop = asyncio.get_running_loop()
        self._put_back(self._slots.take_all())
        loop.call_later(seconds, self._stop_all, "released")
        loop.call_later(0 if is_idle else seconds + LAST_WORDS_SECONDS, self._give_up)
        self._drain_begun.set()
        self._wake.set()

    def _give_up(self) -> None:
        if self._given_up and not self._given_up.done():
            self._given_up.set_result(None)

    @property
    def _is_finished(self) -> bool:
        return (
            self._drain_begun.is_set()
            and not self._open
            and not self._session.settlements
        )

    @asynccontextmanager
    async def _resources(self, *, is_listening: bool) -> AsyncIterator[None]:
        self._wake = asyncio.Event()
        self._sending = self._reading = None
        self._claimed_count = 0
        self._threads = ThreadPoolExecutor(self._concurrency, "rota-handler")
        self._effects = Effects(self._dsn, self._concurrency, self._prepare_after)
        self._wakeups = Wakeups(
            self._listen_dsn, self._queues, self._poll, self._wake_if_free, self._report
        )
        listener = asyncio.create_task(self._wakeups.run()) if is_listening else None
        try:
            yield
        finally:
            if listener:
                listener.cancel()
            self._slots.take_all()
            await self._effects.close()
            self._threads.shutdown(wait=False, cancel_futures=True)

    async def _work(self) -> None:
        backoff = Backoff()
        while not self._is_finished:
            try:
                async with await connect(self._dsn, self._prepare_after) as connection:
                    self._is_connected = True
                    await self._serve(connection, backoff)
                    return
            except (psycopg.Error, RotaError, OSError) as error:
                if not (self._session.has_worked or isinstance(error, TRANSIENT)):
                    raise
                self._report(error)
            finally:
                self._is_connected = False
            self._put_back(self._slots.take_all())
            await self._rest(backoff.pause())

    async def _serve(self, connection: Connection, backoff: Backoff) -> None:
        while not self._is_finished:
            await self._turn(connection)
            backoff.reset()
            if not self._is_finished:
                await self._sleep()
        await self._session.leave(connection)

    async def _turn(self, connection: Connection) -> None:
        await self._session.begin(connection, self._open)
        self._slots.complain()
        if self._clock() >= self._maintain_at and not self._drain_begun.is_set():
            await self._maintain(connection)
        if stale := self._slots.take_stale():
            self._put_back(stale)
            self._pace.forget()
        await self._exchange(connection, self._wanted_count)

    @property
    def _wanted_count(self) -> int:
        """How many jobs to ask for."""
        if not self._is_claiming:
            return 0
        vacant = self._concurrency - self._slots.running_count
        return self._pace.wanted(vacant, self._in_line)

    @property
    def _in_line(self) -> int:
        return self._slots.line_length + self._unread_count

    async def _exchange(self, connection: Connection, max_jobs: int) -> None:
        """Settle, beat and claim.

        If there seem to be more jobs than were asked for, the answer is read when this
        task next waits for something: by then the database has the next exchange.
        """
        begun_at = self._clock()
        gap, self._asked_at = begun_at - self._asked_at, begun_at
        if self._sending:
            self._sending.cancel()
            self._sending = None
        self._was_told_of_more = self._was_told_of_more and max_jobs == 0
        try:
            answer = await self._session.exchange(connection, max_jobs)
        except WorkerLost:
            self._stop_all("lost")
            self._wake.set()
            return
        await self._has_read()
        now = self._clock()
        self._note_pace(now - begun_at)
        self._unread_count = answer.row_count - 1
        self._pace.note_claim(self._unread_count, gap)
        self._reading = asyncio.create_task(self._take(answer, max_jobs, now))
        if self._unread_count >= max_jobs and self._is_claiming:
            self._may_have_more = True
        else:
            await self._has_read()
        if self._may_have_more or self._pace.is_brisk or not self._slots.free_count:
            self._wakeups.idle.clear()
        else:
            self._wakeups.idle.set()

    async def _has_read(self) -> None:
        reading, self._reading = self._reading, None
        if reading:
            await reading

    async def _take(self, unread: Answer[Exchange], max_jobs: int, now: float) -> None:
        """Read an answer; start what was claimed and cancel what should be."""
        self._unread_count = 0
        answer = await self._session.read(unread)
        if answer.cancelled:
            for execution in list(self._open):
                if execution.token in answer.cancelled:
                    execution.cancel()
        self._start(answer.claimed, now)
        self._claimed_count += len(answer.claimed)
        self._may_have_more = len(answer.claimed) >= max_jobs
        if answer.due_in is not None:
            due_at = self._clock() + answer.due_in
            if due_at > self._maintained_at:  # so the last round could not see to it
                earliest = self._maintained_at + DUE_PAUSE_SECONDS
            else:
                earliest = self._maintainable_at
            self._maintain_at = min(self._maintain_at, max(due_at, earliest))

    async def _maintain(self, connection: Connection) -> None:
        # With jitter, lest the same worker come last for ever.
        pause = MAINTENANCE_SECONDS * random.uniform(0.8, 1.2)
        self._maintained_at = self._clock()
        self._maintain_at = self._maintained_at + pause
        done = await self._session.maintain(connection)
        is_promoting = done is not None and done.promoted_count > 0
        pause = DUE_PAUSE_SECONDS if is_promoting else OVERDUE_PAUSE_SECONDS
        self._maintainable_at = self._clock() + pause

    def _start(self, claimed: Sequence[ClaimedJob], now: float) -> None:
        find, decide = self._app.find, self._decide
        executions = [
            Execution(job, find(job.kind), self._effects, now, decide)
            for job in claimed
        ]
        self._open.update(executions)
        if self._drain_begun.is_set():
            self._put_back(executions)
        else:
            self._slots.run(executions, self._threads)

    def _put_back(self, executions: Sequence[Execution]) -> None:
        """Release jobs that were not begun."""
        for execution in executions:
            execution.stop("released")

    def _note_pace(self, exchange_seconds: float) -> None:
        finished, busy_seconds = self._paced
        self._paced = self._slots.finished, self._slots.busy_seconds()
        self._pace.note(
            self._paced[0] - finished, self._paced[1] - busy_seconds, exchange_seconds
        )

    def _stop_all(self, why: Stop) -> None:
        for execution in list(self._open):
            execution.stop(why)

    def _decide(self, execution: Execution, settlement: Settlement | None) -> None:
        self._open.remove(execution)
        if settlement:
            self._session.settlements.append(settlement)
            if isinstance(settlement, Returned) and settlement.outcome == "released":
                self._unfinished_count += execution.has_begun
        if self._may_have_more:
            self._wake.set()
        elif not self._sending:
            pause = min(COMPANY_SECONDS, self._look_at - self._clock())
            loop = asyncio.get_running_loop()
            self._sending = loop.call_later(pause, self._wake.set)

    def _be_free(self) -> None:
        """Look for jobs, unless none is there and it will look soon or be told."""
        is_told = self._pace.is_brisk or self._wakeups.idle.is_set()
        if self._may_have_more or self._was_told_of_more or not is_told:
            self._wake.set()

    def _wake_if_free(self) -> None:
        """Look for jobs; with no slot to run one, the handler that frees it will."""
        if self._slots.free_count:
            self._wake.set()
        else:
            self._was_told_of_more = True

    async def _sleep(self) -> None:
        """Wait until there is a reason for an exchange, or something falls due.

        There is none while more jobs are in line than can be run during it: results are
        then worth collecting. Should the handlers be slow after all, the line is stale
        soon.
        """
        has_reason = self._may_have_more and self._wanted_count > 0
        with suppress(TimeoutError):
            while self._is_stocked or not (has_reason or self._wake.is_set()):
                async with asyncio.timeout(self._due_at() - self._clock()):
                    await self._wake.wait()
                self._wake.clear()
                has_reason = True
        self._wake.clear()

    @property
    def _is_claiming(self) -> bool:
        return self._is_serving and not self._drain_begun.is_set()

    @property
    def _is_stocked(self) -> bool:
        return self._in_line > self._pace.expected

    def _due_at(self) -> float:
        lease = self._lease.total_seconds()
        due_ats = [self._asked_at + lease / 3, self._session.retry_at]
        if (stale_at := self._slots.stale_at) is not None:
            due_ats.append(stale_at)
        if self._is_claiming:
            due_ats.append(self._maintain_at)
            if self._slots.free_count:
                due_ats.append(self._look_at)
        return min(due_ats)

    @property
    def _look_at(self) -> float:
        """When to look for jobs though nobody says that there are any."""
        pause = GATHERING_SECONDS if self._pace.is_brisk else self._poll
        return self._asked_at + pause

    async def _rest(self, seconds: float) -> None:
        """Wait before the next try: not for long, once there are last words to say."""
        if not self._drain_begun.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._drain_begun.wait()
        if self._drain_begun.is_set():
            await asyncio.sleep(min(seconds, 0.5))

    def _report(self, error: Exception) -> None:
        """Log that the database is away, at most once a second."""
        if self._clock() >= self._logged_at + 1:
            self._logged_at = self._clock()
            logger.warning(
                "database away, trying again: %s",
                reason(error),
                extra=self._session.ids,
            )
