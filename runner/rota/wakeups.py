"""The connection that listens: it wakes a worker, and says when one sleeps."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import psycopg

from rota import protocol
from rota.connections import Backoff, answered, connect

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rota.connections import Connection

FIRST_PAUSE_SECONDS = 0.025
# How long the database may take to answer, and how often it is asked whether it is
# there while there is nothing else to ask.
ANSWER_SECONDS = 10.0
CHECK_SECONDS = 30.0


class Wakeups:
    """Calls `wake` when a queue may have work for a worker that is idle.

    idle: set by the worker while it has a slot and found no job for it. Nobody is
        notified but who says that he sleeps, which the database knows from a lock of
        this session.
    poll: seconds after which the worker looks by itself.
    report: told of lost connections; they are replaced.
    """

    def __init__(
        self,
        dsn: str,
        queues: Sequence[str],
        poll: float,
        wake: Callable[[], None],
        report: Callable[[Exception], None],
    ) -> None:
        self.idle = asyncio.Event()
        self._dsn = dsn
        self._queues = queues
        self._poll = poll
        self._wake = wake
        self._report = report

    async def run(self) -> None:
        """Listen for ever, from the first time that the worker is idle."""
        backoff = Backoff()
        await self.idle.wait()
        while True:
            try:
                async with await connect(self._dsn, None) as connection:
                    async with answered(connection, ANSWER_SECONDS):
                        await protocol.listen(connection)
                    backoff.reset()
                    await self._attend(connection)
            except (psycopg.Error, OSError) as error:
                self._report(error)
            await asyncio.sleep(backoff.pause())

    async def _attend(self, connection: Connection) -> None:
        while True:
            await self._hear_until_idle(connection)
            async with answered(connection, ANSWER_SECONDS):
                await protocol.mark_idle(queues=self._queues).on_async(connection)
            await self._look_again(connection)
            while self.idle.is_set():
                if not await self._hear(connection, timeout=CHECK_SECONDS, count=1):
                    await self._in_flight(connection)
            async with answered(connection, ANSWER_SECONDS):
                await protocol.mark_busy(queues=self._queues).on_async(connection)

    async def _look_again(self, connection: Connection) -> None:
        """Wake the worker for what was enqueued by those who did not see it sleep.

        They began before it was marked: it looks once now, and again as they end.
        """
        in_flight = await self._in_flight(connection)
        self._wake()
        pause = FIRST_PAUSE_SECONDS
        while in_flight and self.idle.is_set():
            await self._hear(connection, timeout=pause)
            left = in_flight & await self._in_flight(connection)
            if left < in_flight:
                self._wake()
            in_flight = left
            pause = min(pause * 2, self._poll)

    async def _in_flight(self, connection: Connection) -> set[str]:
        async with answered(connection, ANSWER_SECONDS):
            return set(await protocol.enqueuers_in_flight().on_async(connection))

    async def _hear_until_idle(self, connection: Connection) -> None:
        """Take what others are told off the line, until the worker is idle again."""
        tasks = {
            asyncio.create_task(self._hear(connection)),
            asyncio.create_task(self._become_idle()),
        }
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            # Of a lost connection the next statement tells.
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _become_idle(self) -> None:
        await self.idle.wait()

    async def _hear(
        self,
        connection: Connection,
        *,
        timeout: float | None = None,  # noqa: ASYNC109 - psycopg's
        count: int | None = None,
    ) -> bool:
        has_heard = False
        async for notice in connection.notifies(timeout=timeout, stop_after=count):
            has_heard = True
            if notice.payload in self._queues:
                self._wake()
                await asyncio.sleep(0)  # so the worker asks before this goes on
        return has_heard
