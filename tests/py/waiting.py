"""Waiting in tests: on a condition with a deadline, never on the clock alone."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


def wait_until(condition: Callable[[], T], deadline: float = 30.0) -> T:
    """Ask again and again until the answer is true, and return it.

    deadline: seconds after which the last answer is an AssertionError.
    """
    end = time.monotonic() + deadline
    while True:
        if answer := condition():
            return answer
        if time.monotonic() > end:
            raise AssertionError(f"still {answer!r} after {deadline} seconds")
        time.sleep(0.02)
