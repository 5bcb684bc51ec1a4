"""How many jobs to have at hand, so that slots never wait for the database."""

from __future__ import annotations

# What is fetched ahead at most, in one exchange and all in all.
MOST = 500
# However long exchanges take: several times that, and jobs ahead would go back unbegun.
LONGEST_SECONDS = 0.02
# From how many jobs a second on a worker looks for them unasked, how long after it last
# began to look, and below how many it sleeps until it is woken.
BRISK_RATE = 1000.0
GATHERING_SECONDS = 0.0005
CALM_RATE = 500.0
# However long there was no exchange: a pause says no more than that none came.
LONGEST_GAP_SECONDS = 0.1


class Pace:
    """How fast jobs come, and how fast they are got through, as seen lately.

    is_brisk: whether jobs come so fast that it is better to look for them than to be
        woken. That would cost those who enqueue most of all: commits that notify go one
        by one, each flushed to disk by itself.
    """

    def __init__(self) -> None:
        self.is_brisk = False
        self._claimed = 0.0
        self._claim_seconds = 0.0
        self._finished = 0.0
        self._busy_seconds = 0.0
        self._exchange_seconds = 0.0

    def note_claim(self, claimed: int, gap: float) -> None:
        """Take in how many jobs an exchange brought, so many seconds after another."""
        self._claimed += claimed - self._claimed / 8
        self._claim_seconds += min(gap, LONGEST_GAP_SECONDS) - self._claim_seconds / 8
        least = CALM_RATE if self.is_brisk else BRISK_RATE
        self.is_brisk = self._claimed >= least * self._claim_seconds

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
