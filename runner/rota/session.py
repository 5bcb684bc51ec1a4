"""What a worker says to the database, over whatever connection it has just now."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import TYPE_CHECKING

import psycopg

from rota import protocol, schedules, schema
from rota.errors import RotaError, WorkerLost
from rota.records import Returned
from rota.text import storable

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from datetime import timedelta

    from rota.connections import Connection
    from rota.execution import Execution, Settlement
    from rota.protocol import Answer
    from rota.records import Exchange, Maintained
    from rota.schedules import Schedule

logger = logging.getLogger("rota")


class Session:
    """A worker's standing with the database, which outlives its connections.

    settlements: what is to be recorded with the next exchange. Nothing leaves the list
        before the database has answered: saying it twice is harmless.
    has_worked: whether an exchange has ever succeeded.
    """

    def __init__(
        self,
        name: str,
        queues: Sequence[str],
        lease: timedelta,
        declared: Sequence[Schedule] = (),
    ) -> None:
        self._name = name
        self._declared = declared
        self._queues = protocol.text_array(queues)
        self._lease = lease
        self._id: int | None = None
        self._may_hold_strays = False
        self.settlements: list[Settlement] = []
        self.has_worked = False

    @property
    def ids(self) -> dict[str, object]:
        """Return what log records say of the worker."""
        return {"worker_id": self._id, "worker": self._name}

    async def begin(
        self, connection: Connection, running: Collection[Execution]
    ) -> None:
        """Be registered, and hold no job besides those that run here.

        Raises SchemaError when the database has no rota that fits, and InvalidSchedule
        when a declared schedule is not valid.
        """
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
        sent = self.settlements[:]
        try:
            # Until the answer is here, some jobs may be known to the database only.
            self._may_hold_strays = max_jobs > 0
            answer = await self._ask(connection, max_jobs, sent)
            self._may_hold_strays = False
        except WorkerLost:
            logger.warning("lease of worker %s lost", self._id, extra=self.ids)
            self._id, self._may_hold_strays = None, False
            raise
        except (psycopg.Error, RotaError) as error:
            if not (sent and _is_about_values(error)):
                raise
            await self._settle_singly(connection, sent)
            return await self.exchange(connection, max_jobs)
        self.has_worked = True
        del self.settlements[: len(sent)]
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
            async with asyncio.timeout(self._lease.total_seconds() / 3):
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

    async def _settle_singly(
        self, connection: Connection, sent: Sequence[Settlement]
    ) -> None:
        """Settle one by one, since one of them is refused as it stands.

        A result or an error that cannot be recorded must not keep its job running for
        ever, nor the others: its job fails, for that reason.
        """
        for settlement in sent:
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
        async with asyncio.timeout(self._lease.total_seconds()):
            return await call.ask(connection)


def _is_about_values(error: psycopg.Error | RotaError) -> bool:
    """Whether the database refused what was sent, rather than to work at all."""
    state = error.sqlstate or ""
    return state[:2] in {"22", "23", "54"} or state == "RT008"
