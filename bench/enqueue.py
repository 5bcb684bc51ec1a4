"""How fast jobs come in."""

from __future__ import annotations

import asyncio
import contextlib
import re
import subprocess
import tempfile
import threading
import time
from functools import partial
from typing import TYPE_CHECKING

import psycopg
from psycopg.types.json import Jsonb

from bench.figures import Case, Goal, Measured, figure
from bench.lab import connect
from bench.sides import SIDES, payload
from bench.starts import Starts
from bench.workers import workers
from rota.client import NewJob, enqueue_async, enqueue_jobs
from rota.demo.server import bindir

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from bench.lab import Database, Lab

# Changes that make every enqueue notify, whoever sleeps or not.
LOUD = """
create or replace function rota._is_marked(p_object integer)
returns boolean language sql as 'select true'
"""


async def one_by_one(
    dsn: str, statement: str | None, count: int, connections: int, *, start: int = 0
) -> float:
    """Return jobs/s of single enqueues over so many connections; None: the client's."""
    async with contextlib.AsyncExitStack() as stack:
        lanes: list[Callable[[int], Awaitable[object]]] = []
        for _ in range(connections):
            session = await psycopg.AsyncConnection.connect(dsn, autocommit=True)
            session.prepare_threshold = 0
            await stack.enter_async_context(session)
            lanes.append(partial(_enqueue, session, statement))
        numbers = iter(range(start, start + count))

        async def run(lane: Callable[[int], Awaitable[object]]) -> None:
            for seq in numbers:
                await lane(seq)

        begun = time.perf_counter()
        await asyncio.gather(*map(run, lanes))
        return count / (time.perf_counter() - begun)


async def _enqueue(
    session: psycopg.AsyncConnection, statement: str | None, seq: int
) -> None:
    if statement is None:
        await enqueue_async(session, "noop", payload(seq))
    else:
        await session.execute(statement.encode(), [Jsonb(payload(seq))])


def nobody_there(
    lab: Lab,
    side: str,
    statement: str | None,
    jobs: int,
    connections: int,
    changes: tuple[str, ...] = (),
) -> Measured:
    """Measure single enqueues while no worker is there."""
    with lab.database(side, changes) as database:
        asyncio.run(one_by_one(database.dsn, statement, 100, connections))
        speed = asyncio.run(one_by_one(database.dsn, statement, jobs, connections))
        return {"jobs/s": speed}


@contextlib.contextmanager
def sleeper(database: Database, side: str) -> Iterator[None]:
    """Listen and, for rota, be marked idle, but never take a job."""
    with connect(database.dsn) as session:
        session.execute(f"listen {SIDES[side].channel}".encode())
        if side == "rota":
            session.execute("select rota.mark_idle('{default}')")
        is_over = threading.Event()

        def listen() -> None:
            while not is_over.is_set():
                for _ in session.notifies(timeout=0.1):
                    pass

        thread = threading.Thread(target=listen)
        thread.start()
        try:
            yield
        finally:
            is_over.set()
            thread.join()


def sleeper_there(lab: Lab, side: str, jobs: int, connections: int) -> Measured:
    """Measure single enqueues beside somebody who sleeps through all of them."""
    statement = SIDES[side].announce
    with lab.database(side) as database, sleeper(database, side):
        asyncio.run(one_by_one(database.dsn, statement, 100, connections))
        speed = asyncio.run(one_by_one(database.dsn, statement, jobs, connections))
        return {"jobs/s": speed}


def worker_there(lab: Lab, side: str, jobs: int, connections: int) -> Measured:
    """Measure single enqueues while a worker process runs the jobs as they come."""
    with (
        lab.database(side) as database,
        Starts(jobs) as starts,
        workers(database, side, starts),
    ):
        speed = asyncio.run(
            one_by_one(database.dsn, SIDES[side].announce, jobs, connections)
        )
        return {"jobs/s": speed}


def by_pgbench(lab: Lab, side: str, seconds: int, connections: int) -> Measured:
    """Measure single enqueues through pgbench."""
    statement = SIDES[side].enqueue.replace("%s", f"'{_json()}'")
    with lab.database(side) as database, tempfile.NamedTemporaryFile("w") as script:
        script.write(f"{statement};\n")
        script.flush()
        report = subprocess.run(
            [
                *(str(bindir() / "pgbench"), "-n", "-M", "prepared"),
                *("-c", str(connections), "-j", "2", "-T", str(seconds)),
                *("-f", script.name, database.dsn),
            ],
            check=True,
            capture_output=True,
            text=True,
        ).stdout
    found = re.search(r"tps = ([\d.]+)", report)
    if not found:
        raise RuntimeError(f"pgbench said: {report}")
    return {"jobs/s": float(found[1])}


def _json() -> str:
    return f'{{"seq": 0, "pad": "{"x" * 77}"}}'


@figure
def enqueue(lab: Lab) -> Iterator[Case]:
    """Enqueue one by one.

    Single enqueues, each its own transaction, over 4 and 16 connections, from one
    asyncio process with psycopg, statements prepared; client: through the Python
    package's `enqueue_async`. With pgbench the caller costs next to nothing, so it
    shows the server's share plainest. With an idle runner: a session that listens and
    is marked idle but takes nothing, so every enqueue has to wake it (raw: an insert
    with `pg_notify`). With a worker: a process with default settings runs the jobs as
    they come, on the same cores.
    """
    jobs = lab.size(15_000)
    for count in (4, 16):
        yield Case(
            f"{count} connections, nobody idle",
            {
                **{
                    side: partial(nobody_there, lab, side, own.enqueue, jobs, count)
                    for side, own in SIDES.items()
                },
                "client": partial(nobody_there, lab, "rota", None, jobs, count),
            },
            (Goal("jobs/s", ">=", 0.85, "raw"),),
        )
        yield Case(
            f"{count} connections, pgbench, nobody idle",
            {
                side: partial(by_pgbench, lab, side, lab.size(4), count)
                for side in SIDES
            },
        )
    for count in (4, 16):
        for label, measure in (
            ("an idle runner", sleeper_there),
            ("a worker", worker_there),
        ):
            yield Case(
                f"{count} connections, with {label}",
                {side: partial(measure, lab, side, jobs, count) for side in SIDES},
            )


def by_client(lab: Lab, jobs: int, rows: int) -> Measured:
    """Measure bulk enqueues of so many rows a call through the Python package."""
    with lab.database("rota") as database:
        enqueue_jobs(database.session, _new_jobs(0, 10))
        begun = time.perf_counter()
        for start in range(0, jobs, rows):
            enqueue_jobs(database.session, _new_jobs(start, rows))
        return {"jobs/s": jobs / (time.perf_counter() - begun)}


def _new_jobs(start: int, count: int) -> Iterator[NewJob]:
    for seq in range(start, start + count):
        yield NewJob(kind="noop", payload=payload(seq))


def in_bulk(lab: Lab, side: str, jobs: int, rows: int) -> Measured:
    """Measure bulk enqueues of so many rows a call, the payloads made by the client."""
    statement = SIDES[side].bulk.encode()
    with lab.database(side) as database:
        session = database.session
        session.execute(statement, [[Jsonb(payload(0))] * 10])
        begun = time.perf_counter()
        for start in range(0, jobs, rows):
            payloads = [Jsonb(payload(seq)) for seq in range(start, start + rows)]
            session.execute(statement, [payloads])
        return {"jobs/s": jobs / (time.perf_counter() - begun)}


@figure
def bulk(lab: Lab) -> Iterator[Case]:
    """Enqueue in bulk.

    One session; the payloads are made and encoded in Python, which is counted, and
    sent as an array of jsonb. client: through the Python package's `enqueue_jobs`.
    """
    jobs = max(lab.size(100_000), 1_000)
    for rows in (1_000, jobs):
        yield Case(
            f"{rows:,} rows a call",
            {
                **{side: partial(in_bulk, lab, side, jobs, rows) for side in SIDES},
                "client": partial(by_client, lab, jobs, rows),
            },
            (Goal("jobs/s", ">=", 0.85, "raw"),),
        )
