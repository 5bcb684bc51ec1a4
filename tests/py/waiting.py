"""Waiting in tests: on a condition with a deadline, never on the clock alone."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

# For how many seconds to wait for what has to come: a slow machine is no failure.
PATIENCE = float(os.environ.get("ROTA_TEST_PATIENCE", "120"))


def wait_until(condition: Callable[[], T], deadline: float = PATIENCE) -> T:
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
