"""What a worker says to the database, over whatever connection it has just now."""

from __future__ import annotations

import logging
import math
import time
from contextlib import suppress
from typing import TYPE_CHECKING

import psycopg

from rota import protocol, schedules, schema
from rota.connections import answered
from rota.errors import RotaError, WorkerLost
from rota.records import Returned
from rota.text import storable

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from datetime import timedelta

    from rota.connections import Connection
    from rota.execution import Execution, Settlement
    from rota.protocol import Answer
    from rota.records import Exchange, Maintained
    from rota.schedules import Schedule

logger = logging.getLogger("rota")

# How soon a settlement is tried again whose job somebody else has locked.
HELD_UP_SECONDS = 1.0


class Session:
    """A worker's standing with the database, which outlives its connections.

    settlements: what is to be recorded with the next exchange. Nothing leaves the list
        before the database has answered: saying it twice is harmless. The first ones
        may be held up by somebody's lock, and go apart from the others.
    has_worked: whether an exchange has ever succeeded.
    retry_at: when those that are held up are due, in monotonic seconds.
    """

    def __init__(
        self,
        name: str,
        queues: Sequence[str],
        lease: timedelta,
        declared: Sequence[Schedule] = (),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._name = name
        self._declared = declared
        self._queues = protocol.text_array(queues)
        self._lease = lease
        self._clock = clock
        self._id: int | None = None
        self._may_hold_strays = False
        self.settlements: list[Settlement] = []
        self._held_up_count = 0
        self.has_worked = False
        self.retry_at = math.inf

    @property
    def ids(self) -> dict[str, object]:
        """Return what log records say of the worker."""
        return {"worker_id": self._id, "worker": self._name}

    @property
    def _patience(self) -> float:
        """For how many seconds the database may be silent.

        We beat three times in a lease: after that there is time left to connect anew.
        """
        return self._lease.total_seconds() / 2

    async def begin(
        self, connection: Connection, running: Collection[Execution]
    ) -> None:
        """Be registered, and hold no job besides those that run here.

        Raises SchemaError when the database has no rota that fits, and InvalidSchedule
        when a declared schedule is not valid.
        """
        if self.has_worked and self._id is not None and not self._may_hold_strays:
            return
        async with answered(connection, self._patience):
            if not self.has_worked:
                await schema.handshake(connection)
                await schedules.declare(connection, self._declared)
            if self._id is None:
                call = protocol.register_worker(
                    name=self._name, lease=self._lease, version=schema.version()
                )
                self._id = await call.on_async(connection)
                logger.info("registered as worker %s", self._id, extra=self.ids)
            if self._may_hold_strays:
                await self._release_strays(connection, self._id, running)

    async def leave(self, connection: Connection) -> None:
        """Be registered no more."""
        if self._id is not None:
            with suppress(WorkerLost):
                await protocol.deregister_worker(worker=self._id).on_async(connection)
            logger.info("worker %s is done", self._id, extra=self.ids)
            self._id = None

    async def exchange(self, connection: Connection, max_jobs: int) -> Answer[Exchange]:
        """Settle, beat and claim; the answer has to be given to `read`.

        Raises WorkerLost: then nothing was settled, and `begin` has to be called again.
        """
        sent: Sequence[Settlement] = ()
        try:
            if self._clock() >= self.retry_at:
                await self._settle_held_up(connection)
            sent = self.settlements[self._held_up_count :]
            # Until the answer is here, some jobs may be known to the database only.
            self._may_hold_strays = max_jobs > 0
            answer = await self._ask(connection, max_jobs, sent)
            self._may_hold_strays = False
        except WorkerLost:
            logger.warning("lease of worker %s lost", self._id, extra=self.ids)
            self._id, self._may_hold_strays = None, False
            raise
        except (psycopg.Error, RotaError) as error:
            if sent and isinstance(error, psycopg.errors.LockNotAvailable):
                self._held_up_count += len(sent)
                self.retry_at = self._clock()
            elif sent and _is_about_values(error):
                for settlement in sent:
                    await self._settle(connection, settlement)
            else:
                raise
            return await self.exchange(connection, max_jobs)
        self.has_worked = True
        first = self._held_up_count
        del self.settlements[first : first + len(sent)]
        return answer

    async def read(self, answer: Answer[Exchange]) -> Exchange:
        """Read the answer of an exchange, and log what it refused."""
        try:
            exchange = await answer.read()
        except psycopg.Error:
            self._may_hold_strays = True
            raise
        for token in exchange.refused:
            logger.warning(
                "job %s ended too late: its lease was lost",
                token.id,
                extra={"job_id": token.id, "execution": token.execution, **self.ids},
            )
        return exchange

    async def maintain(self, connection: Connection) -> Maintained | None:
        """Do a round of maintenance; None when it failed, which can wait."""
        try:
            async with answered(connection, self._lease.total_seconds() / 3):
                return await protocol.maintain().on_async(connection)
        except (psycopg.Error, RotaError, TimeoutError) as error:
            if connection.broken or not self.has_worked:
                raise
            logger.warning("maintenance failed: %s", error, extra=self.ids)
            return None

    async def _release_strays(
        self, connection: Connection, worker: int, running: Collection[Execution]
    ) -> None:
        known = [*(execution.token for execution in running), *self.settlements]
        call = protocol.release_stray_jobs(worker=worker, known=known)
        with suppress(WorkerLost):  # then there are none, as the next exchange will say
            for stray in await call.on_async(connection):
                logger.warning(
                    "job %s was handed out in an answer that got lost: released",
                    stray.id,
                    extra={"job_id": stray.id, **self.ids},
                )
        self._may_hold_strays = False

    async def _settle_held_up(self, connection: Connection) -> None:
        """Settle one by one what others may have locked, until two are seen to be.

        Those go to the end. All that is not locked gets its turn in time, and neither
        the heartbeat nor other jobs wait for somebody's transaction.
        """
        locked_count = 0
        for settlement in self.settlements[: self._held_up_count]:
            try:
                await self._settle(connection, settlement)
            except psycopg.errors.LockNotAvailable:
                self.settlements.remove(settlement)
                self.settlements.insert(self._held_up_count - 1, settlement)
                locked_count += 1
                if locked_count == 2:
                    break
            else:
                self._held_up_count -= 1
        is_over = self._held_up_count == 0
        self.retry_at = math.inf if is_over else self._clock() + HELD_UP_SECONDS

    async def _settle(self, connection: Connection, settlement: Settlement) -> None:
        """Settle one alone; if it is refused as it stands, its job fails for that.

        A result or an error that cannot be recorded must not keep its job running for
        ever, nor the others.
        """
        try:
            await self.read(await self._ask(connection, 0, [settlement]))
        except (psycopg.Error, RotaError) as error:
            if not _is_about_values(error):
                raise
            reason = f"what the handler ended with cannot be recorded: {error}"
            failure = Returned(
                settlement.id,
                settlement.execution,
                "failed",
                storable(reason),
                retryable=False,
            )
            await self.read(await self._ask(connection, 0, [failure]))
        self.settlements.remove(settlement)

    async def _ask(
        self, connection: Connection, max_jobs: int, sent: Sequence[Settlement]
    ) -> Answer[Exchange]:
        assert self._id is not None
        call = protocol.exchange(
            worker=self._id, queues=self._queues, max_jobs=max_jobs, settlements=sent
        )
        async with answered(connection, self._patience):
            return await call.ask(connection)


def _is_about_values(error: psycopg.Error | RotaError) -> bool:
    """Whether the database refused what was sent, rather than to work at all."""
    state = error.sqlstate or ""
    return state[:2] in {"22", "23", "54"} or state == "RT008"
