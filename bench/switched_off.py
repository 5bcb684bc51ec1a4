"""What the devices are worth: the same figure with one of them switched off.

What joining settle, beat and claim in `exchange` is worth stands in `drain.claim`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from bench.enqueue import LOUD, nobody_there
from bench.figures import Case, figure
from bench.horizon import NO_FLOORS, tenths
from bench.sides import ROTA

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bench.lab import Lab


@figure
def switched_off(lab: Lab) -> Iterator[Case]:
    """Do without floors, and without quiet wake-ups.

    Floors: claim and complete in batches of 100 beside an open snapshot, and without
    floors, where every claim starts from the left end of the index. Quiet wake-ups:
    single enqueues over 16 connections with nobody idle, and with a notification each.
    """
    jobs = max(lab.size(250_000), 2_000)
    horizon = partial(tenths, lab, "rota", "snapshot held", 100, jobs)
    yield Case(
        "snapshot held, batch 100",
        {"rota": horizon, "without": partial(horizon, changes=(NO_FLOORS,))},
    )
    jobs = lab.size(15_000)
    enqueue = partial(nobody_there, lab, "rota", ROTA.enqueue, jobs, 16)
    yield Case(
        "enqueue, 16 connections",
        {"rota": enqueue, "without": partial(enqueue, changes=(LOUD,))},
    )
