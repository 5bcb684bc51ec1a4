"""Ctrl-C and its relatives: one KeyboardInterrupt, at a moment that can bear it."""

from __future__ import annotations

import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType


class Interrupts:
    """What the signals that ask for the end do in this process.

    The first raises KeyboardInterrupt, which cleans up as it passes; further ones are
    ignored, lest they interrupt that. Signals that were ignored already stay so.
    """

    def __init__(self) -> None:
        self._is_held = False
        self._is_pending = False
        self._signals = [
            one
            for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
            if signal.getsignal(one) != signal.SIG_IGN
        ]

    def begin(self) -> None:
        """Take the signals over."""
        for one in self._signals:
            signal.signal(one, self._on_signal)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Put an interrupt off until the block ends.

        For starting a process: between its start and our knowing it, it would escape.
        """
        self._is_held = True
        try:
            yield
        finally:
            self._is_held = False
        if self._is_pending:
            raise KeyboardInterrupt

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        for one in self._signals:
            # Not SIG_IGN, which a process started from now on would inherit.
            signal.signal(one, lambda *_: None)
        self._is_pending = self._is_held
        if not self._is_held:
            raise KeyboardInterrupt


interrupts = Interrupts()
