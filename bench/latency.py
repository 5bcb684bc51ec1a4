"""How soon a job starts."""

from __future__ import annotations

import asyncio
import contextlib
import random
import statistics
import time
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import psycopg
from psycopg.types.json import Jsonb

from bench.figures import Case, Measured, figure
from bench.lab import wait_for
from bench.sides import SIDES, payload
from bench.starts import Starts
from bench.workers import workers

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bench.lab import Lab

WARM_UPS = 20
GAP_SECONDS = (0.02, 0.08)

# One enqueue: the job's number, when the call began and when it returned.
Call: TypeAlias = tuple[int, int, int]


async def produce(dsn: str, side: str, due: Sequence[float], lanes: int) -> list[Call]:
    """Enqueue one job at each of these seconds from now, over so many connections."""
    statement = SIDES[side].announce.encode()
    calls: list[Call] = []
    numbered = iter(enumerate(due, start=WARM_UPS))

    async with contextlib.AsyncExitStack() as stack:
        sessions = []
        for _ in range(lanes):
            session = await psycopg.AsyncConnection.connect(dsn, autocommit=True)
            session.prepare_threshold = 0
            sessions.append(await stack.enter_async_context(session))
        base = time.monotonic()

        async def run(session: psycopg.AsyncConnection) -> None:
            for seq, seconds in numbered:
                await asyncio.sleep(max(base + seconds - time.monotonic(), 0))
                begun = time.monotonic_ns()
                await session.execute(statement, [Jsonb(payload(seq))])
                calls.append((seq, begun, time.monotonic_ns()))

        await asyncio.gather(*map(run, sessions))
    return calls


def start_delays(
    lab: Lab, side: str, due: Sequence[float], lanes: int, options: Sequence[str] = ()
) -> Measured:
    """Return percentiles of the time to the handler's start, and the rate reached."""
    count = WARM_UPS + len(due)
    with (
        lab.database(side) as database,
        Starts(count) as starts,
        workers(database, side, starts, options),
    ):
        for seq in range(WARM_UPS):
            database.session.execute(
                SIDES[side].announce.encode(), [Jsonb(payload(seq))]
            )
            wait_for(partial(starts.__getitem__, seq), "a job to start")
        calls = asyncio.run(produce(database.dsn, side, due, lanes))
        wait_for(starts.has_all, "all jobs to start")
        since_return = [(starts[seq] - end) / 1e6 for seq, _, end in calls]
        since_call = [(starts[seq] - begun) / 1e6 for seq, begun, _ in calls]
        seconds = (calls[-1][2] - calls[0][1]) / 1e9
    return {
        "p50 ms": percentile(since_return, 50),
        "p99 ms": percentile(since_return, 99),
        "p50 ms from call": percentile(since_call, 50),
        "p99 ms from call": percentile(since_call, 99),
        "jobs/s": len(calls) / seconds,
    }


def percentile(values: Sequence[float], percent: int) -> float:
    """Return a percentile."""
    return statistics.quantiles(values, n=100, method="inclusive")[percent - 1]


@figure
def idle(lab: Lab) -> Iterator[Case]:
    """Start a job on an idle queue.

    One worker process with default settings that has nothing to do; 200 single
    enqueues at random gaps of 20 to 80 ms. The time runs to the start of the handler,
    from the return of the enqueue call (below zero if the job started before the caller
    knew that it was stored) and from its beginning. Raw: the insert notifies, the
    worker waits for that.
    """
    chance = random.Random(7)
    due, at = [], 0.0
    for _ in range(max(lab.size(200), 20)):
        at += chance.uniform(*GAP_SECONDS)
        due.append(at)
    yield Case(
        "idle", {side: partial(start_delays, lab, side, due, 1) for side in SIDES}
    )


@figure
def steady(lab: Lab) -> Iterator[Case]:
    """Start jobs under a steady load.

    Single enqueues at fixed instants, whether or not those before have returned as
    far as the connections allow (4 at 500/s, 8 at 2,000/s); one worker process with
    default settings. The time counts as for the idle queue; jobs/s is the rate reached.
    """
    seconds = lab.size(10)
    for rate, lanes in ((500, 4), (2_000, 8)):
        due = [number / rate for number in range(rate * seconds)]
        yield Case(
            f"{rate:,} jobs/s",
            {side: partial(start_delays, lab, side, due, lanes) for side in SIDES},
        )
