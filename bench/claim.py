"""Jobs per second, claimed and completed, beside the barest loop that could do it.

    python bench/claim.py [--clients 2] [--scale 1.0]

Bare: a table of id, payload and a mark, one update that marks rows under `for update
skip locked`, one delete: no queues, priorities, retries, leases, history or results.
Both run on one server with durable defaults (BENCH_DSN, else a throw-away one), one
after the other for each batch size, with as many jobs, emptied and vacuumed between.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import time
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import TYPE_CHECKING, Any, TypeAlias

import psycopg

from rota import schema
from rota.demo.server import server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Session: TypeAlias = psycopg.Connection[Any]

JOBS = {1: 4_000, 10: 30_000, 100: 100_000, 500: 200_000}
BARE = """
create table bare (
    id bigint generated always as identity primary key,
    payload jsonb not null,
    taken_at timestamptz
);
create index bare_free_idx on bare (id) where taken_at is null;
"""
FILL_BARE = """
insert into bare (payload)
select to_jsonb(g) from generate_series(1, %s) as g
"""
TAKE_BARE = """
update bare set taken_at = now()
where id = any (array(
    select id from bare where taken_at is null order by id limit %s
    for update skip locked
))
returning id, payload
"""
FILL = """
select count(*)
from rota.enqueue_jobs(
    kinds => '{bench}',
    payloads => array(select to_jsonb(g) from generate_series(1, %s) as g)
)
"""
CLAIM = """
select id, execution, kind, payload
from rota.claim_jobs(worker => %s, max_jobs => %s)
"""
COMPLETE = "select count(*) from rota.complete_jobs(ids => %s, executions => %s)"
EXCHANGE = """
select event, id, execution, kind, payload
from rota.exchange(
    worker => %s, max_jobs => %s, completed_ids => %s::bigint[],
    completed_executions => %s::integer[]
)
"""


def register(session: Session) -> int:
    row = session.execute("select rota.register_worker(name => 'bench')").fetchone()
    assert row is not None
    return int(row[0])


def bare(session: Session, batch: int) -> int:
    done = 0
    while taken := session.execute(TAKE_BARE, [batch], prepare=True).fetchall():
        ids = [row[0] for row in taken]
        session.execute("delete from bare where id = any (%s)", [ids], prepare=True)
        done += len(ids)
    return done


def claim_complete(session: Session, batch: int) -> int:
    worker, done = register(session), 0
    while jobs := session.execute(CLAIM, [worker, batch], prepare=True).fetchall():
        tokens = [[job[0] for job in jobs], [job[1] for job in jobs]]
        session.execute(COMPLETE, tokens, prepare=True)
        done += len(jobs)
    return done


def exchange(session: Session, batch: int) -> int:
    worker, done = register(session), 0
    tokens: list[list[int]] = [[], []]
    while True:
        answer = session.execute(EXCHANGE, [worker, batch, *tokens], prepare=True)
        jobs = [row for row in answer.fetchall() if row[0] == "claimed"]
        if not jobs:
            return done
        tokens = [[job[1] for job in jobs], [job[2] for job in jobs]]
        done += len(jobs)


def fill(session: Session, loop: Callable[[Session, int], int], count: int) -> None:
    for table in ("rota.job", "rota.archive", "bare"):
        session.execute(f"truncate {table}")
    step = 10_000
    for start in range(0, count, step):
        size = min(step, count - start)
        session.execute(FILL_BARE if loop is bare else FILL, [size])
    session.execute("vacuum analyze")
    session.execute("checkpoint")


def measure(
    dsn: str, loop: Callable[[Session, int], int], batch: int, count: int, clients: int
) -> float:
    """Return jobs per second from the common start until the last client is done."""
    start = Barrier(clients + 1)

    def run(session: Session) -> int:
        start.wait()
        return loop(session, batch)

    with contextlib.ExitStack() as stack:
        sessions = [
            stack.enter_context(psycopg.connect(dsn, autocommit=True))
            for _ in range(clients + 1)
        ]
        fill(sessions[0], loop, count)
        pool = stack.enter_context(ThreadPoolExecutor(clients))
        running = [pool.submit(run, session) for session in sessions[1:]]
        start.wait()
        begun = time.perf_counter()
        done = sum(future.result() for future in running)
        seconds = time.perf_counter() - begun
    if done != count:
        raise RuntimeError(f"{done} of {count} jobs done")
    return count / seconds


@contextlib.contextmanager
def database() -> Iterator[str]:
    if given := os.environ.get("BENCH_DSN"):
        yield given
        return
    with server(durable=True) as dsn:
        yield dsn


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--clients", type=int, default=2, help="sessions at once")
    parser.add_argument("--scale", type=float, default=1.0, help="times as many jobs")
    options = parser.parse_args()
    with database() as dsn:
        with psycopg.connect(dsn, autocommit=True) as session:
            schema.install(session)
            session.execute(BARE)
            version = session.info.parameter_status("server_version")
        print(f"PostgreSQL {version}, {options.clients} clients, jobs per second")
        print("batch     bare  claim+complete  of bare  exchange  of bare")
        for batch, jobs in JOBS.items():
            count = max(int(jobs * options.scale), batch)
            rates = [
                measure(dsn, loop, batch, count, options.clients)
                for loop in (bare, claim_complete, exchange)
            ]
            floor, split, joint = rates
            print(
                f"{batch:5} {floor:8.0f} {split:15.0f} {split / floor:8.0%}"
                f" {joint:9.0f} {joint / floor:8.0%}",
                flush=True,
            )


if __name__ == "__main__":
    main()
