"""The handlers of an application, and what they can say besides returning."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from rota.schedules import Schedule
from rota.text import json_text

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import timedelta

    from rota.job import Job
    from rota.schedules import Gap, Missed, Overlap, Repeat
    from rota.text import Json

# A plain function, or one that returns an awaitable. What it returns is the result.
Function: TypeAlias = "Callable[[Job], object]"
F = TypeVar("F", bound="Function")


@dataclass(frozen=True, slots=True)
class Handler:
    """A function to run for a kind; `is_async` as a task, else in a thread."""

    function: Function
    is_async: bool


class App:
    """Handlers by kind, and declared schedules.

    An ``async def`` runs as a task on the event loop, which it must not block; a plain
    function runs in a thread.
    """

    def __init__(self) -> None:
        self._handlers: dict[str, Handler] = {}
        self._schedules: dict[str, Schedule] = {}

    def handler(self, kind: str) -> Callable[[F], F]:
        """Register the decorated function for jobs of this kind.

        Raises ValueError when the kind has a handler already, and TypeError when the
        function could not be one.
        """

        def register(function: F) -> F:
            if kind in self._handlers:
                raise ValueError(f"kind {kind!r} has a handler already")
            called = getattr(function, "__call__", None)  # noqa: B004
            if called is None or inspect.isasyncgenfunction(function):
                raise TypeError(f"{function!r} cannot be a handler")
            self._handlers[kind] = Handler(
                function,
                is_async=inspect.iscoroutinefunction(inspect.unwrap(function))
                or inspect.iscoroutinefunction(called),
            )
            return function

        return register

    def schedule(
        self,
        schedule: str,
        expression: str,
        kind: str,
        payload: Json = None,
        *,
        timezone: str = "UTC",
        queue: str = "default",
        priority: int = 0,
        max_attempts: int | None = None,
        retry_policy: str | None = None,
        timeout: timedelta | None = None,
        gap: Gap = "run_after",
        repeat: Repeat = "first",
        missed: Missed = "latest",
        max_missed: int = 100,
        max_age: timedelta | None = None,
        overlap: Overlap = "allow",
    ) -> None:
        """Declare a schedule, which every worker brings to the database as it starts.

        One of this name that is there is changed if it differs, and stays paused if it
        is; schedules that are not declared are left alone. payload: None means {}.
        Raises ValueError when the name is declared already; a worker raises
        InvalidSchedule for an expression or time zone that is not valid.
        """
        if schedule in self._schedules:
            raise ValueError(f"schedule {schedule!r} is declared already")
        self._schedules[schedule] = Schedule(
            schedule=schedule,
            expression=expression,
            kind=kind,
            payload=json_text({} if payload is None else payload),
            timezone=timezone,
            queue=queue,
            priority=priority,
            max_attempts=max_attempts,
            retry_policy=retry_policy,
            timeout=timeout,
            gap=gap,
            repeat=repeat,
            missed=missed,
            max_missed=max_missed,
            max_age=max_age,
            overlap=overlap,
        )

    @property
    def schedules(self) -> tuple[Schedule, ...]:
        """Return the declared schedules, in their order."""
        return tuple(self._schedules.values())

    def find(self, kind: str) -> Handler | None:
        """Return the handler of a kind, None when there is none."""
        return self._handlers.get(kind)


class Verdict(Exception):
    """What a handler raises to end its execution otherwise than done or failed."""


class Snooze(Verdict):
    """Run the job again after the delay; the attempt is not charged."""

    def __init__(self, delay: timedelta) -> None:
        super().__init__(delay)
        self.delay = delay


class Discard(Verdict):
    """Give the job up: it is dead at once, whatever attempts are left."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Retry(Verdict):
    """Fail this attempt and try again after the delay, while attempts are left.

    delay: None leaves it to the retry policy.
    """

    def __init__(
        self, delay: timedelta | None = None, reason: str = "retry requested"
    ) -> None:
        super().__init__(delay, reason)
        self.delay = delay
        self.reason = reason
