"""The handlers of an application, and what they can say besides returning."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import timedelta

    from rota.job import Job

# A plain function, or one that returns an awaitable. What it returns is the result.
Function: TypeAlias = "Callable[[Job], object]"
F = TypeVar("F", bound="Function")


@dataclass(frozen=True, slots=True)
class Handler:
    """A function to run for a kind; `is_async` as a task, else in a thread."""

    function: Function
    is_async: bool


class App:
    """Handlers by kind.

    An ``async def`` runs as a task on the event loop, which it must not block; a plain
    function runs in a thread.
    """

    def __init__(self) -> None:
        self._handlers: dict[str, Handler] = {}

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
