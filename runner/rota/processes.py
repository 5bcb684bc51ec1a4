"""Several runners under one parent: started, started again, told to stop."""

from __future__ import annotations

import asyncio
import logging
import signal
from contextlib import suppress
from typing import TYPE_CHECKING

from rota.connections import Backoff

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

logger = logging.getLogger("rota")

# A child that lived this long starts again at once if it dies; others wait longer and
# longer.
SOUND_SECONDS = 10.0
# What a child exits with that finds itself unable to work.
EXIT_UNUSABLE = 2


class Processes:
    """`count` children that run the same command."""

    def __init__(
        self, command: Sequence[str], count: int, environment: Mapping[str, str]
    ) -> None:
        self._command = command
        self._count = count
        self._environment = environment
        self._children: set[asyncio.subprocess.Process] = set()
        self._stopping = asyncio.Event()

    async def run(self) -> int:
        """Run until all children have ended; return the highest of their exit codes.

        A child that dies is started again. One of the first that finds itself unusable
        stops all; of one that was started again that may pass, as when the server takes
        no writes during a failover. Children die with the parent: their standard input
        ends.
        """
        keepers = [self._keep() for _ in range(self._count)]
        return max(await asyncio.gather(*keepers))

    def signal(self, number: int) -> None:
        """Pass a signal on, and start no child again."""
        self._stopping.set()
        for child in self._children:
            with suppress(ProcessLookupError):
                child.send_signal(number)

    async def _keep(self) -> int:
        backoff = Backoff(first=0.2)
        is_first = True
        loop = asyncio.get_running_loop()
        while True:
            started_at = loop.time()
            child = await asyncio.create_subprocess_exec(
                *self._command,
                stdin=asyncio.subprocess.PIPE,
                env=dict(self._environment),
                # A Ctrl-C of the terminal reaches the parent alone, which passes it on.
                start_new_session=True,
            )
            self._children.add(child)
            if self._stopping.is_set():
                child.send_signal(signal.SIGTERM)
            code = await child.wait()
            self._children.discard(child)
            if code == EXIT_UNUSABLE and is_first:
                self.signal(signal.SIGTERM)
            is_first = False
            if self._stopping.is_set():
                # Killed by the signal, it had not begun to work.
                is_early = code in (-signal.SIGTERM, -signal.SIGINT)
                return 0 if is_early else code if code >= 0 else 128 - code
            logger.error("process %s died with code %s: starting anew", child.pid, code)
            if loop.time() - started_at > SOUND_SECONDS:
                backoff.reset()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), backoff.pause())
            if self._stopping.is_set():
                return 0
