"""Several sessions at once: threads, each with a connection of its own."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from threading import Barrier
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import psycopg

from waiting import PATIENCE, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from concurrent.futures import Future

Session: TypeAlias = psycopg.Connection[Any]
T = TypeVar("T")


def rows(session: Session, query: str, **values: Any) -> list[tuple[Any, ...]]:
    return list(session.execute(query.encode(), values or None).fetchall())


def value(session: Session, query: str, **values: Any) -> Any:
    ((found,),) = rows(session, query, **values)
    return found


def column(session: Session, query: str, **values: Any) -> list[Any]:
    return [row[0] for row in rows(session, query, **values)]


def together(
    dsn: str, count: int, body: Callable[[Session, int, Barrier], T]
) -> list[T]:
    """Run the body in that many sessions, which begin at one moment.

    The body gets its session, its number and the barrier of them all, to meet again.
    Returns what each returned; an exception of one is raised here.
    """
    barrier = Barrier(count)

    def run(session: Session, number: int) -> T:
        try:
            barrier.wait()
            return body(session, number, barrier)
        except BaseException:
            barrier.abort()
            raise

    with ExitStack() as stack:
        sessions = [
            stack.enter_context(closing(psycopg.connect(dsn, autocommit=True)))
            for _ in range(count)
        ]
        pool = stack.enter_context(ThreadPoolExecutor(count))
        return results([pool.submit(run, *pair[::-1]) for pair in enumerate(sessions)])


def results(futures: Iterable[Future[T]]) -> list[T]:
    """Wait for all; of several failures raise the one that broke the others."""
    futures = list(futures)
    failures = [f for f in (future.exception() for future in futures) if f]
    for failure in sorted(failures, key=lambda f: isinstance(f, RuntimeError)):
        raise failure
    return [future.result() for future in futures]


@contextmanager
def meanwhile(
    call: Callable[..., T], session: Session, *arguments: Any, **values: Any
) -> Iterator[Future[T]]:
    """Run the call, which may block, beside the block; cancelled if that fails."""
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(call, session, *arguments, **values)
        try:
            yield future
        except BaseException:
            session.cancel_safe()
            raise


def wait_blocked(observer: Session, session: Session) -> None:
    """Wait until the session waits for a lock that another one holds."""
    pid = session.info.backend_pid
    wait_until(
        lambda: value(observer, "select pg_blocking_pids(%(pid)s) <> '{}'", pid=pid)
    )


def be_impatient(session: Session) -> None:
    """Let the session fail that waits for a lock which the test does not give up."""
    session.execute(f"set lock_timeout = '{PATIENCE / 4} s'".encode())


def let_exchange_wait(session: Session) -> None:
    """Let exchange wait for locks for as long as its session does.

    It gives up after a quarter of a second otherwise, in which a busy machine may have
    done nothing of what a test does meanwhile.
    """
    session.execute(
        "do $$ begin execute format('alter function %s reset lock_timeout',"
        " 'rota.exchange'::regproc::regprocedure); end $$"
    )


def enqueue_many(session: Session, count: int, queue: str = "default") -> list[int]:
    return column(
        session,
        """
        select e.id
        from rota.enqueue_jobs(
            kinds => array['work'],
            payloads => array(
                select to_jsonb(g) from generate_series(1, %(count)s) as g
            ),
            queue => %(queue)s
        ) as e
        """,
        count=count,
        queue=queue,
    )


def register(session: Session, lease: str = "1 hour") -> int:
    worker: int = value(
        session,
        "select rota.register_worker(name => 'tester', lease => %(lease)s)",
        lease=lease,
    )
    return worker


def claim(session: Session, worker: int, max_jobs: int = 1) -> list[tuple[int, int]]:
    """Return the fencing tokens of the jobs claimed from the default queue."""
    return [
        (job, execution)
        for job, execution in rows(
            session,
            """
            select c.id, c.execution
            from rota.claim_jobs(worker => %(worker)s, max_jobs => %(max_jobs)s) as c
            """,
            worker=worker,
            max_jobs=max_jobs,
        )
    ]


def wait_expired(observer: Session, worker: int) -> None:
    wait_until(
        lambda: value(
            observer,
            "select state = 'expired' from rota.worker_status where id = %(worker)s",
            worker=worker,
        )
    )
