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
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import psycopg

from rota import protocol, schema
from rota.connections import PREPARE_AFTER, Backoff, Effects, connect
from rota.errors import RotaError, WorkerLost
from rota.execution import Execution
from rota.records import JobRef, Returned
from rota.text import storable

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence

    from psycopg.rows import TupleRow

    from rota.app import App
    from rota.execution import Settlement, Stop
    from rota.records import ClaimedJob, Exchange

logger = logging.getLogger("rota")
Connection: TypeAlias = "psycopg.AsyncConnection[TupleRow]"

MAINTENANCE_SECONDS = 5.0
# However close together jobs fall due, maintenance is not called more often than this;
# nor than that, when it found nothing to promote though something was due.
DUE_PAUSE_SECONDS = 0.05
OVERDUE_PAUSE_SECONDS = 1.0
# What a runner that has to end may still take to say what became of its jobs.
LAST_WORDS_SECONDS = 1.8

TRANSIENT = (
    psycopg.OperationalError,
    psycopg.InterfaceError,
    psycopg.errors.ReadOnlySqlTransaction,  # a primary that became a standby
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
        self._prepare_after = PREPARE_AFTER if is_listening else None
        self._name = name or f"{socket.gethostname()}:{os.getpid()}"
        self._clock = clock

        self._id: int | None = None
        self._has_worked = asyncio.Event()
        self._may_hold_strays = False
        # A job is open until it is decided what to record of it, which then waits for
        # the next exchange; its slot is taken until the handler has returned.
        self._open: dict[JobRef, Execution] = {}
        self._settlements: list[Settlement] = []
        self._running: set[JobRef] = set()
        self._unfinished_count = 0
        self._wake = asyncio.Event()
        self._asked_at = -math.inf
        self._maintain_at = -math.inf
        self._maintainable_at = -math.inf
        self._stop_at = math.inf
        self._logged_at = -math.inf
        self._is_connected = False
        self._given_up: asyncio.Future[None] | None = None

    @property
    def has_stragglers(self) -> bool:
        """After `run`: whether something runs on that only the process can end."""
        return bool(self._running) or not self._work_task.done()

    async def run(self) -> int:
        """Work until `drain` or `stop`; return how many jobs were not finished.

        Those were handed back uncharged or, with the database away, are left to the
        lease. A lost database ends nothing: the worker tries again for ever.

        Raises SchemaError when the database has no rota that fits; and, as long as no
        exchange has succeeded, RotaError or psycopg.Error for what another try does not
        mend (an unknown queue, a missing privilege).
        """
        self._given_up = given_up = asyncio.get_running_loop().create_future()
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
        return self._unfinished_count + len(self._open) + len(self._settlements)

    async def run_once(self) -> int:
        """Claim up to `concurrency` jobs, run them to their end; return how many.

        For tests, and for runs from a shell or a timer. What is due is promoted first.
        Raises as `run` does, and psycopg.OperationalError when the database is away.
        """
        async with (
            self._resources(is_listening=False),
            await connect(self._dsn, self._prepare_after) as connection,
        ):
            await self._begin(connection)
            await self._maintain(connection)
            count = await self._exchange(connection, self._concurrency)
            while self._open or self._settlements:
                await self._sleep()
                await self._exchange(connection, 0)
            await self._leave(connection)
        return count

    def drain(self) -> None:
        """Claim no more, and end `run` when all is done or the grace time is over."""
        self._end_within(self._grace)

    def stop(self) -> None:
        """End `run` within two seconds, handing back what runs."""
        self._end_within(0)

    def _end_within(self, seconds: float) -> None:
        self._stop_at = min(self._stop_at, self._clock() + seconds)
        self._wake.set()
        is_idle = not (self._is_connected or self._open or self._settlements)
        loop = asyncio.get_running_loop()
        loop.call_later(0 if is_idle else seconds + LAST_WORDS_SECONDS, self._give_up)

    def _give_up(self) -> None:
        if self._given_up and not self._given_up.done():
            self._given_up.set_result(None)

    @property
    def _is_draining(self) -> bool:
        return self._stop_at < math.inf

    @property
    def _is_finished(self) -> bool:
        return self._is_draining and not self._open and not self._settlements

    @asynccontextmanager
    async def _resources(self, *, is_listening: bool) -> AsyncIterator[None]:
        self._wake, self._has_worked = asyncio.Event(), asyncio.Event()
        self._threads = ThreadPoolExecutor(self._concurrency, "rota-handler")
        self._effects = Effects(self._dsn, self._concurrency, self._prepare_after)
        listener = asyncio.create_task(self._listen()) if is_listening else None
        try:
            yield
        finally:
            if listener:
                listener.cancel()
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
                if not (self._has_worked.is_set() or isinstance(error, TRANSIENT)):
                    raise
                self._report(error)
            finally:
                self._is_connected = False
            await asyncio.sleep(backoff.pause())

    async def _serve(self, connection: Connection, backoff: Backoff) -> None:
        while not self._is_finished:
            await self._turn(connection)
            backoff.reset()
            await self._sleep()
        await self._leave(connection)

    async def _turn(self, connection: Connection) -> None:
        await self._begin(connection)
        if self._clock() >= self._stop_at:
            self._stop_all("released")
        elif self._clock() >= self._maintain_at and not self._is_draining:
            await self._maintain(connection)
        free = self._concurrency - len(self._running)
        await self._exchange(connection, 0 if self._is_draining else free)

    async def _begin(self, connection: Connection) -> None:
        """Be registered, and hold no job that this process does not know of."""
        if not self._has_worked.is_set():
            await schema.handshake(connection)
        if self._id is None:
            call = protocol.register_worker(name=self._name, lease=self._lease)
            self._id = await call.on_async(connection)
            logger.info("registered as worker %s", self._id, extra=self._ids)
        if self._may_hold_strays:
            await self._release_strays(connection, self._id)

    async def _release_strays(self, connection: Connection, worker: int) -> None:
        known = [*self._open, *self._settlements]
        call = protocol.release_stray_jobs(worker=worker, known=known)
        with suppress(
            WorkerLost
        ):  # then there are none, and the next exchange finds out
            for stray in await call.on_async(connection):
                logger.warning(
                    "job %s was handed out in an answer that got lost: released",
                    stray.id,
                    extra={"job_id": stray.id, **self._ids},
                )
        self._may_hold_strays = False

    async def _leave(self, connection: Connection) -> None:
        if self._id is not None:
            with suppress(WorkerLost):
                await protocol.deregister_worker(worker=self._id).on_async(connection)
            logger.info("worker %s is done", self._id, extra=self._ids)
            self._id = None

    async def _exchange(self, connection: Connection, max_jobs: int) -> int:
        """Settle, beat and claim; start what was claimed and return how many."""
        sent = self._settlements[:]
        try:
            # Until the answer is here, some jobs may be known to the database only.
            self._may_hold_strays = max_jobs > 0
            answer = await self._ask(connection, max_jobs, sent)
            self._may_hold_strays = False
        except WorkerLost:
            logger.warning("lease of worker %s lost", self._id, extra=self._ids)
            self._stop_all("lost")
            self._id, self._may_hold_strays = None, False
            self._wake.set()
            return 0
        except (psycopg.Error, RotaError) as error:
            if not (sent and _is_about_values(error)):
                raise
            await self._settle_singly(connection, sent)
            self._wake.set()
            return 0
        self._has_worked.set()
        self._asked_at = self._clock()
        del self._settlements[: len(sent)]
        for token in answer.cancelled:
            if token in self._open:
                self._open[token].cancel()
        for claimed in answer.claimed:
            self._start(claimed)
        if answer.due_in is not None:
            due_at = max(self._clock() + answer.due_in, self._maintainable_at)
            self._maintain_at = min(self._maintain_at, due_at)
        return len(answer.claimed)

    async def _settle_singly(
        self, connection: Connection, sent: Sequence[Settlement]
    ) -> None:
        """Settle one by one, since one of them is refused as it stands.

        A result or an error that cannot be recorded must not keep its job running for
        ever, nor the others: its job fails, for that reason.
        """
        for settlement in sent:
            try:
                await self._ask(connection, 0, [settlement])
            except (psycopg.Error, RotaError) as error:
                if not _is_about_values(error):
                    raise
                failure = Returned(
                    settlement.id,
                    settlement.execution,
                    "failed",
                    storable(
                        f"what the handler ended with cannot be recorded: {error}"
                    ),
                    retryable=False,
                )
                await self._ask(connection, 0, [failure])
            self._settlements.remove(settlement)

    async def _ask(
        self, connection: Connection, max_jobs: int, sent: Sequence[Settlement]
    ) -> Exchange:
        assert self._id is not None
        call = protocol.exchange(
            worker=self._id, queues=self._queues, max_jobs=max_jobs, settlements=sent
        )
        async with asyncio.timeout(self._lease.total_seconds()):
            answer = await call.on_async(connection)
        for token in answer.refused:
            logger.warning(
                "job %s ended too late: its lease was lost",
                token.id,
                extra={"job_id": token.id, "execution": token.execution, **self._ids},
            )
        return answer

    async def _maintain(self, connection: Connection) -> None:
        # With jitter, lest the same worker come last for ever.
        pause = MAINTENANCE_SECONDS * random.uniform(0.8, 1.2)
        self._maintain_at = self._clock() + pause
        self._maintainable_at = self._clock() + OVERDUE_PAUSE_SECONDS
        try:
            async with asyncio.timeout(self._lease.total_seconds() / 3):
                done = await protocol.maintain().on_async(connection)
        except (psycopg.Error, RotaError, TimeoutError) as error:
            if connection.broken or not self._has_worked.is_set():
                raise
            logger.warning("maintenance failed: %s", error, extra=self._ids)
            return
        if done.promoted_count:
            self._maintainable_at = self._clock() + DUE_PAUSE_SECONDS

    def _start(self, claimed: ClaimedJob) -> None:
        token = JobRef(claimed.id, claimed.execution)
        if self._is_draining:
            self._settlements.append(Returned(token.id, token.execution, "released"))
            return
        execution = Execution(
            claimed,
            self._app.find(claimed.kind),
            self._effects,
            on_decision=partial(self._decide, token),
            on_return=partial(self._return, token),
        )
        self._open[token] = execution
        self._running.add(token)
        execution.start(self._threads)

    def _stop_all(self, why: Stop) -> None:
        for execution in list(self._open.values()):
            execution.stop(why)

    def _decide(self, token: JobRef, settlement: Settlement | None) -> None:
        del self._open[token]
        if settlement:
            self._settlements.append(settlement)
            if isinstance(settlement, Returned) and settlement.outcome == "released":
                self._unfinished_count += 1
        self._wake.set()

    def _return(self, token: JobRef) -> None:
        self._running.remove(token)
        self._wake.set()

    async def _sleep(self) -> None:
        """Wait until somebody wakes us or something falls due."""
        due_ats = [self._asked_at + self._lease.total_seconds() / 3]
        if self._clock() < self._stop_at:
            due_ats.append(self._stop_at)
        if not self._is_draining:
            due_ats.append(self._maintain_at)
            if len(self._running) < self._concurrency:
                due_ats.append(self._asked_at + self._poll)
        with suppress(TimeoutError):
            async with asyncio.timeout(min(due_ats) - self._clock()):
                await self._wake.wait()
        self._wake.clear()

    async def _listen(self) -> None:
        """Wake the loop when a queue of ours has new work; a connection of its own."""
        backoff = Backoff()
        await self._has_worked.wait()
        while True:
            try:
                async with await connect(self._dsn, None) as connection:
                    await protocol.listen(connection)
                    backoff.reset()
                    self._wake.set()  # what came meanwhile has told nobody
                    async for notice in connection.notifies():
                        is_free = len(self._running) < self._concurrency
                        if is_free and notice.payload in self._queues:
                            self._wake.set()
            except (psycopg.Error, OSError) as error:
                self._report(error)
            await asyncio.sleep(backoff.pause())

    def _report(self, error: Exception) -> None:
        """Log that the database is away, at most once a second."""
        if self._clock() >= self._logged_at + 1:
            self._logged_at = self._clock()
            logger.warning("database away, trying again: %s", error, extra=self._ids)

    @property
    def _ids(self) -> dict[str, object]:
        return {"worker_id": self._id, "worker": self._name}


def _is_about_values(error: psycopg.Error | RotaError) -> bool:
    """Whether the database refused what was sent, rather than to work at all."""
    state = error.sqlstate or ""
    return state[:2] in {"22", "23", "54"} or state == "RT008"
