"""How fast a backlog goes."""

from __future__ import annotations

import contextlib
import statistics
import time
from functools import partial
from typing import TYPE_CHECKING

from bench.figures import Case, Goal, Measured, figure
from bench.lab import connect, wait_for
from bench.sides import SIDES, ExchangeLoop, SplitLoop
from bench.starts import Starts
from bench.workers import workers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from bench.lab import Database, Lab, Session
    from bench.sides import Loop

FILL_STEP = 10_000
SAMPLES = 5


def fill(database: Database, side: str, count: int) -> None:
    """Queue jobs 0 … count - 1, and let the tables settle."""
    for start in range(0, count, FILL_STEP):
        last = min(start + FILL_STEP, count) - 1
        database.session.execute(SIDES[side].fill.encode(), [start, last])
    database.settle()


def drain_processes(
    lab: Lab, side: str, jobs: int, options: Sequence[str], processes: int
) -> Measured:
    """Return jobs/s from the first handler's start to the last job's end."""
    own = SIDES[side]
    with lab.database(side) as database, Starts(jobs) as starts:
        database.session.execute(own.gate.encode())
        fill(database, side, jobs)
        with workers(database, side, starts, options, processes):
            database.session.execute(own.open_gate.encode())
            wait_for(starts.has_all, f"{side} to start {jobs} jobs")
            wait_for(lambda: database.value(own.is_empty), f"{side} to end them")
            end = time.monotonic_ns()
        return {"jobs/s": jobs / (end - starts.first()) * 1e9}


@figure
def drain(lab: Lab) -> Iterator[Case]:
    """Drain a backlog with worker processes.

    Jobs are queued behind a closed gate, the tables vacuumed and analysed, workers
    started, the gate opened. Counted from the first handler's start to the moment the
    database holds no unfinished job. rota: `rota worker`, with `async` handlers, as it
    comes and with the options of `TUNED`; it archives every job. Raw: batches of 100,
    tuned 500; it deletes.
    """
    for label, is_tuned, processes, jobs in (
        ("default settings, 1 process", False, 1, lab.size(50_000)),
        ("tuned, 1 process", True, 1, lab.size(150_000)),
        ("tuned, 2 processes", True, 2, lab.size(150_000)),
    ):
        yield Case(
            label,
            {
                side: partial(
                    drain_processes,
                    *(lab, side, jobs, own.tuned if is_tuned else (), processes),
                )
                for side, own in SIDES.items()
            },
        )


@figure
def processes(lab: Lab) -> Iterator[Case]:
    """Run more processes than there are cores.

    As `drain`, tuned, with more and more processes.
    """
    jobs = lab.size(100_000)
    for count in (1, 4, 16):
        yield Case(
            f"{count} processes",
            {
                side: partial(drain_processes, lab, side, jobs, own.tuned, count)
                for side, own in SIDES.items()
            },
        )


def drain_by_loop(
    lab: Lab, side: str, jobs: int, make: Callable[[Session, int], Loop], batch: int
) -> Measured:
    """Return jobs/s of one session that steps until nothing is left."""
    with lab.database(side) as database, connect(database.dsn) as session:
        fill(database, side, jobs)
        loop = make(session, batch)
        return {"jobs/s": jobs_per_second(loop, jobs)}


def jobs_per_second(loop: Loop, jobs: int) -> float:
    """Return the speed at which the loop takes so many jobs and then finds none."""
    begun, done = time.perf_counter(), 0
    while done < jobs:
        taken = loop.step()
        if not taken:
            raise RuntimeError(f"only {done} of {jobs} jobs were there")
        done += taken
    loop.step()
    return jobs / (time.perf_counter() - begun)


@figure
def claim(lab: Lab) -> Iterator[Case]:
    """Claim and complete in SQL.

    One session from Python, without a runner, drains the queue in batches. rota:
    `claim_jobs` and `complete_jobs`; exchange: one call that completes the last batch
    and claims the next; three calls: claim, complete and heartbeat, which is what
    `exchange` replaces. Raw: update and delete.
    """
    for batch, jobs in (
        (1, 6_000),
        (10, 40_000),
        (100, 100_000),
        (500, 150_000),
    ):
        run = partial(drain_by_loop, lab, jobs=lab.size(jobs), batch=batch)
        yield Case(
            f"batch {batch}",
            {
                "rota": partial(run, "rota", make=SplitLoop),
                "raw": partial(run, "raw", make=SIDES["raw"].loop),
                "exchange": partial(run, "rota", make=ExchangeLoop),
                "three calls": partial(
                    run, "rota", make=partial(SplitLoop, is_beating=True)
                ),
            },
        )


def loop_at_depth(lab: Lab, side: str, depths: Sequence[int], jobs: int) -> Measured:
    """Return jobs/s for the first jobs of each depth, and deepest by shallowest.

    The first jobs are gone in a moment. So the depths take turns, refilled each time.
    """
    count = min(jobs, *depths)
    samples: dict[int, list[float]] = {depth: [] for depth in depths}
    with contextlib.ExitStack() as stack:
        opened = {depth: stack.enter_context(lab.database(side)) for depth in depths}
        for depth, database in opened.items():
            fill(database, side, depth - count)
        for _ in range(SAMPLES):
            for depth, database in opened.items():
                fill(database, side, count)
                with connect(database.dsn) as session:
                    loop = SIDES[side].loop(session, 100)
                    samples[depth].append(jobs_per_second(loop, count - 100))
    return by_depth(samples)


def by_depth(samples: dict[int, list[float]]) -> Measured:
    """Return the median of each depth, and that of the deepest by the shallowest."""
    speeds = {
        f"jobs/s at {depth:,}": statistics.median(speed)
        for depth, speed in samples.items()
    }
    shallow, *_, deep = speeds.values()
    return {**speeds, "deep / shallow": deep / shallow}


def runner_at_depth(lab: Lab, side: str, depths: Sequence[int], jobs: int) -> Measured:
    """Do as `loop_at_depth`, with a worker process: until so many jobs have begun.

    Not all of the short queue: once nothing is left to fetch, the last ones go faster.
    """
    count = min(jobs, *depths) * 4 // 5
    samples: dict[int, list[float]] = {depth: [] for depth in depths}
    for _ in range(SAMPLES):
        for depth in depths:
            seconds = runner_seconds(lab, side, depth, count)
            samples[depth].append(count / seconds)
    return by_depth(samples)


def runner_seconds(lab: Lab, side: str, depth: int, count: int) -> float:
    """Return how long after the first a worker begins so many jobs of a backlog."""
    own = SIDES[side]
    with lab.database(side) as database, Starts(depth) as starts:
        database.session.execute(own.gate.encode())
        fill(database, side, depth)
        with workers(database, side, starts, own.tuned):
            database.session.execute(own.open_gate.encode())
            wait_for(partial(starts.__getitem__, count - 1), f"{side} at {depth}")
        return (starts[count - 1] - starts.first()) / 1e9


@figure
def depth(lab: Lab) -> Iterator[Case]:
    """Drain a deep queue.

    The first jobs of a short and of a long queue, drained by one session in batches
    of 100, and by a tuned worker process (to the start of four fifths of them). Each
    is the median of five times, for a time is a moment; short and long take turns.
    """
    depths = (10_000, max(lab.size(1_000_000), 20_000))
    jobs = 10_000
    goal = Goal("deep / shallow", ">=", 0.95)
    for label, measure in (("SQL", loop_at_depth), ("worker", runner_at_depth)):
        yield Case(
            label,
            {side: partial(measure, lab, side, depths, jobs) for side in SIDES},
            (goal,),
        )


def drain_lanes(lab: Lab, queues: int, priorities: int, jobs: int) -> Measured:
    """Return jobs/s of one session that serves all queues."""
    names = [f"queue_{number}" for number in range(queues)]
    with lab.database("rota") as database, connect(database.dsn) as session:
        for name in names:
            session.execute("select rota.create_queue(%s)", [name])
            session.execute(
                """
                select count(*)
                from rota.enqueue_jobs(
                    kinds => '{noop}',
                    payloads => array(
                        select to_jsonb(g) from generate_series(1, %(count)s) as g
                    ),
                    queue => %(queue)s,
                    priorities => array(
                        select g %% %(priorities)s
                        from generate_series(1, %(count)s) as g
                    )
                )
                """,
                {"count": jobs // queues, "queue": name, "priorities": priorities},
            )
        database.settle()
        loop = ExchangeLoop(session, 100, names)
        return {"jobs/s": jobs_per_second(loop, jobs // queues * queues)}


@figure
def lanes(lab: Lab) -> Iterator[Case]:
    """Serve many queues and priorities.

    The same number of jobs spread evenly, drained by one session that serves all
    queues through `exchange` in batches of 100.
    """
    jobs = lab.size(100_000)
    for queues in (1, 10, 100):
        for priorities in (1, 10):
            yield Case(
                f"{queues} queues x {priorities} priorities",
                {"rota": partial(drain_lanes, lab, queues, priorities, jobs)},
            )
