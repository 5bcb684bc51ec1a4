"""A file that says from outside the process that its loop still turns."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PULSE_SECONDS = 2.0


@contextmanager
def pulse(file: Path) -> Iterator[None]:
    """Touch the file every two seconds for the length of the block; then remove it.

    A handler that blocks the loop stops the pulse; a database that is away does not,
    for starting the process again would not bring it back.
    """
    loop = asyncio.get_running_loop()
    timer: asyncio.Handle

    def beat() -> None:
        nonlocal timer
        file.touch()
        timer = loop.call_later(PULSE_SECONDS, beat)

    timer = loop.call_soon(beat)
    try:
        yield
    finally:
        timer.cancel()
        file.unlink(missing_ok=True)
