"""The slots in which handlers run: so many at once, the other jobs wait in line."""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections import deque
from operator import is_
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from concurrent.futures import Executor

    from rota.execution import Execution

logger = logging.getLogger("rota")

# After how long without a free slot we say what has them, then after twice that, and so
# on; and how many of those jobs, the oldest, are named.
STUCK_SECONDS = 60.0
NAMED_JOBS = 10
# How long handlers that never suspend may keep the event loop from everything else.
BREATH_SECONDS = 0.001


class Slots:
    """Runs executions in line, up to `count` at once.

    A slot is a task that runs one execution after the other, so that handlers that
    never suspend cost no task switch. Before it runs one it opens another slot, should
    there be more in line: that one takes over once the handler suspends.

    patience: an execution that was in line for so many seconds is not begun any more.
    on_free: called when a slot has closed and none is in line.
    finished: how many executions have ended.
    """

    def __init__(
        self,
        count: int,
        patience: float,
        on_free: Callable[[], None],
        clock: Callable[[], float],
    ) -> None:
        self._count = count
        self._patience = patience
        self._on_free = on_free
        self._clock = clock
        self._threads: Executor
        self._variables = contextvars.Context()
        self._line: deque[Execution] = deque()
        self._tasks: set[asyncio.Task[None]] = set()
        self._running: set[Execution] = set()
        self._freed = (0, clock())
        self._complain_after = STUCK_SECONDS
        self._is_opening = False
        self._busy_seconds = 0.0
        self._busy_since = 0.0
        self.finished = 0

    @property
    def free_count(self) -> int:
        """How many slots are free, when each in line has taken one."""
        return max(0, self._count - len(self._tasks) - len(self._line))

    @property
    def running_count(self) -> int:
        """How many slots are taken."""
        return len(self._tasks)

    @property
    def line_length(self) -> int:
        """How many executions are in line."""
        return len(self._line)

    @property
    def stale_at(self) -> float | None:
        """When the first in line will have been there for too long."""
        return self._line[0].arrived_at + self._patience if self._line else None

    def busy_seconds(self) -> float:
        """Return for how long there was an execution running."""
        if not self._tasks:
            return self._busy_seconds
        return self._busy_seconds + self._clock() - self._busy_since

    def run(self, executions: Iterable[Execution], threads: Executor) -> None:
        """Put executions in line."""
        self._threads = threads
        self._variables = contextvars.copy_context()
        self._line.extend(executions)
        self._open()

    def take_stale(self) -> list[Execution]:
        """Take those out of the line that have been there for too long."""
        late = self._clock() - self._patience
        stale = []
        while self._line and self._line[0].arrived_at <= late:
            stale.append(self._line.popleft())
        self._open()
        return stale

    def take_all(self) -> list[Execution]:
        """Take all out of the line."""
        taken = list(self._line)
        self._line.clear()
        return taken

    def complain(self) -> None:
        """Log which jobs have taken all slots, if none has become free for long."""
        now = self._clock()
        finished, since = self._freed
        if self.finished != finished or len(self._tasks) < self._count:
            self._freed = self.finished, now
            self._complain_after = STUCK_SECONDS
        elif now - since >= self._complain_after:
            self._complain_after = 2 * (now - since)
            oldest = sorted(self._running, key=_age)[:NAMED_JOBS]
            logger.warning(
                "no slot has become free for %.0f s, %s are taken, the longest by %s",
                *(now - since, self._count),
                ", ".join(
                    f"job {e.token.id} ({now - e.arrived_at:.0f} s"
                    f"{', told to end' if e.is_stopped else ''})"
                    for e in oldest
                ),
                extra={"job_ids": [e.token.id for e in oldest]},
            )

    def _open(self) -> None:
        """Open a slot, if it has something to do and none is about to open."""
        if self._is_opening or len(self._tasks) >= self._count:
            return
        now = self._clock()
        if self._has_next(now):
            if not self._tasks:
                self._busy_since = now
            self._is_opening = True
            variables = self._variables.copy()  # not those of the handler before
            self._tasks.add(asyncio.create_task(self._serve(), context=variables))

    def _has_next(self, now: float) -> bool:
        return bool(self._line) and now < self._line[0].arrived_at + self._patience

    async def _serve(self) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._is_opening = False
        variables = contextvars.copy_context()
        now = self._clock()
        end = now + BREATH_SECONDS
        try:
            while now < end and self._has_next(now):
                execution = self._line.popleft()
                self._running.add(execution)
                self._open()
                try:
                    await execution.run(task, self._threads)
                finally:
                    self._running.discard(execution)
                self.finished += 1
                # The next one finds the task as a new one would be.
                if task.cancelling() or not _is_unchanged(variables):
                    break
                now = self._clock()
        finally:
            self._close(task)

    def _close(self, task: asyncio.Task[None]) -> None:
        if len(self._tasks) == 1:
            self._busy_seconds += self._clock() - self._busy_since
        self._tasks.discard(task)
        self._open()
        if not self._line:
            self._on_free()


def _age(execution: Execution) -> tuple[float, int]:
    return execution.arrived_at, execution.token.id


def _is_unchanged(before: contextvars.Context) -> bool:
    now = contextvars.copy_context()
    return (
        len(now) == len(before)
        and all(map(is_, now.keys(), before.keys()))
        and all(map(is_, now.values(), before.values()))
    )
