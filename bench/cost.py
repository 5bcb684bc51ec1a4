"""What a job writes, and what holding jobs costs."""

from __future__ import annotations

import asyncio
import time
from functools import partial
from typing import TYPE_CHECKING

from bench.drain import fill
from bench.enqueue import one_by_one
from bench.figures import Case, Goal, Measured, figure
from bench.lab import connect
from bench.sides import SIDES, register

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bench.lab import Lab


def wal_of_a_life(lab: Lab, side: str, jobs: int) -> Measured:
    """Return WAL bytes per job of single enqueues, and of a drain in batches of 100."""
    own = SIDES[side]
    with lab.database(side) as database, connect(database.dsn) as session:
        loop = own.loop(session, 100)
        before = database.wal_bytes()
        asyncio.run(one_by_one(database.dsn, own.enqueue, jobs, 4))
        between = database.wal_bytes()
        while loop.step():
            pass
        after = database.wal_bytes()
    return {
        "bytes enqueue": (between - before) / jobs,
        "bytes claim and complete": (after - between) / jobs,
        "bytes in all": (after - before) / jobs,
    }


@figure
def wal(lab: Lab) -> Iterator[Case]:
    """Write a job to the log.

    Bytes of WAL per job with a payload of 100 bytes: enqueued one by one, then
    claimed and completed by one session in batches of 100. rota's jobs end in the
    archive, the raw ones are deleted.
    """
    jobs = lab.size(20_000)
    yield Case(
        "one job's life",
        {side: partial(wal_of_a_life, lab, side, jobs) for side in SIDES},
        (Goal("bytes in all", "<=", 1_536),),
    )


def beats(lab: Lab, held: tuple[int, ...], calls: int) -> Measured:
    """Return how long a heartbeat takes with so many jobs held, and what it writes."""
    measured: dict[str, float] = {}
    for count in held:
        with lab.database("rota") as database, connect(database.dsn) as session:
            fill(database, "rota", count)
            worker = register(session)
            session.execute(
                "select count(*) from rota.claim_jobs(worker => %s, max_jobs => %s)",
                [worker, count],
            )
            before, begun = database.wal_bytes(), time.perf_counter()
            for _ in range(calls):
                session.execute(
                    "select count(*) from rota.heartbeat(worker => %s)", [worker]
                )
            seconds = time.perf_counter() - begun
            measured[f"ms with {count:,} held"] = seconds / calls * 1e3
            measured[f"bytes with {count:,} held"] = (
                database.wal_bytes() - before
            ) / calls
    few, many = (measured[f"ms with {count:,} held"] for count in held)
    return {**measured, "many / few": many / few}


@figure
def heartbeat(lab: Lab) -> Iterator[Case]:
    """Beat with few and with many jobs held.

    Calls of `heartbeat`, one after the other, by a worker that holds few and by one
    that holds many jobs: how long a call takes, and how much WAL it writes.
    """
    measure = partial(beats, lab, (10, 10_000), lab.size(3_000))
    yield Case("rota", {"rota": measure}, (Goal("many / few", "<=", 1.1),))
