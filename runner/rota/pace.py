"""How many jobs to have at hand, so that slots never wait for the database."""

from __future__ import annotations

# What is fetched ahead at most, in one exchange and all in all.
MOST = 500
# However long exchanges take: several times that, and jobs ahead would go back unbegun.
LONGEST_SECONDS = 0.02


class Pace:
    """What handlers get through while an exchange is under way, as seen lately."""

    def __init__(self) -> None:
        self._finished = 0.0
        self._busy_seconds = 0.0
        self._exchange_seconds = 0.0

    def note(self, finished: int, busy: float, exchange: float) -> None:
        """Take in what went on since the last exchange began.

        finished: how many jobs ended. busy: seconds in which at least one was running.
        exchange: how many seconds the exchange took. What went on before counts half as
        much as it did, so many fast jobs are soon forgotten over a slow one.
        """
        self._finished = self._finished / 2 + finished
        self._busy_seconds = self._busy_seconds / 2 + busy
        self._exchange_seconds += (exchange - self._exchange_seconds) / 2

    def forget(self) -> None:
        """Expect nothing: jobs were fetched too early."""
        self._finished = 0.0

    @property
    def expected(self) -> int:
        """How many jobs will end during the next exchange; 0 when they are slow."""
        if not self._busy_seconds:
            return 0
        seconds = min(self._exchange_seconds, LONGEST_SECONDS)
        return int(self._finished / self._busy_seconds * seconds)

    def wanted(self, vacant: int, in_line: int) -> int:
        """Return how many jobs to ask for.

        One for each vacant slot, or what will be run while this exchange is under way
        and during the next, if that is more: less what will be left in line by then.
        """
        ahead = min(2 * self.expected, MOST)
        left = max(0, in_line - self.expected)
        return max(0, max(vacant, ahead) - left)
