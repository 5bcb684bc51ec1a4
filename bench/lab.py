"""Where figures are measured: one server, a fresh database for each measurement."""

from __future__ import annotations

import contextlib
import itertools
import os
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import psycopg
from psycopg.conninfo import make_conninfo

from bench.sides import SIDES
from rota.demo.server import server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

Session: TypeAlias = psycopg.Connection[Any]
T = TypeVar("T")

SETTINGS = {
    "shared_buffers": "1GB",
    "max_wal_size": "8GB",
    # As on a server that has been up for a while: WAL files are used again. To fill a
    # new one with zeros holds up whoever writes, and none is new in the first moments.
    "min_wal_size": "4GB",
    "max_connections": "200",
}
PATIENCE_SECONDS = 120.0
# Of the databases: two benches may run on one server.
PREFIX = f"bench_{os.getpid()}"


@dataclass(frozen=True, slots=True)
class Database:
    """A database of its own, and a session in it."""

    dsn: str
    session: Session

    def value(self, query: str, *parameters: object) -> Any:
        """Return the first column of the first row."""
        row = self.session.execute(query.encode(), parameters).fetchone()
        return row[0] if row else None

    def wal_bytes(self) -> int:
        """Return how much WAL this server has written since it was made."""
        return int(self.value("select pg_current_wal_insert_lsn() - '0/0'::pg_lsn"))

    def settle(self) -> None:
        """Leave nothing half done by what has filled the tables."""
        self.session.execute("vacuum analyze")
        self.session.execute("checkpoint")


@dataclass(slots=True)
class Lab:
    """The server, and how much is to be measured on it."""

    dsn: str
    scale: float
    _numbers: Iterator[int] = field(default_factory=itertools.count)

    def size(self, quoted: int) -> int:
        """Return how many jobs, calls or seconds to take instead of those quoted."""
        return max(round(quoted * self.scale), 1)

    @contextlib.contextmanager
    def database(self, side: str, changes: Sequence[str] = ()) -> Iterator[Database]:
        """Make a database with a side's tables, changed by statements; drop it after.

        Every measurement starts from one, just after a checkpoint.
        """
        name = f"{PREFIX}_{next(self._numbers)}"
        with psycopg.connect(self.dsn, autocommit=True) as admin:
            admin.execute(f"create database {name} template {PREFIX}_{side}".encode())
            admin.execute("checkpoint")
            dsn = make_conninfo(self.dsn, dbname=name)
            try:
                with connect(dsn) as session:
                    for change in changes:
                        session.execute(change.encode())
                    yield Database(dsn, session)
            finally:
                admin.execute(f"drop database {name} with (force)".encode())


@contextlib.contextmanager
def lab(*, scale: float) -> Iterator[Lab]:
    """Start a durable server, or use BENCH_DSN's, with a template for each side."""
    with contextlib.ExitStack() as stack:
        dsn = os.environ.get("BENCH_DSN")
        if not dsn:
            dsn = stack.enter_context(server(durable=True, settings=SETTINGS))
        with psycopg.connect(dsn, autocommit=True) as admin:
            for side, set_up in SIDES.items():
                template = f"{PREFIX}_{side}"
                drop = f"drop database if exists {template} with (force)".encode()
                admin.execute(drop)
                admin.execute(f"create database {template}".encode())
                stack.callback(_drop, dsn, drop)
                own = make_conninfo(dsn, dbname=template)
                with psycopg.connect(own, autocommit=True) as session:
                    set_up.install(session)
        yield Lab(dsn, scale)


def _drop(dsn: str, statement: bytes) -> None:
    with psycopg.connect(dsn, autocommit=True) as admin:
        admin.execute(statement)


def connect(dsn: str) -> Session:
    """Open a session that commits each statement and prepares each at once."""
    session = psycopg.connect(dsn, autocommit=True)
    session.prepare_threshold = 0
    return session


def wait_for(
    condition: Callable[[], T],
    what: str,
    *,
    gap: float = 0.002,
) -> T:
    """Look every `gap` seconds until it holds; return what it returned.

    Raises RuntimeError after two minutes.
    """
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not (answer := condition()):
        if time.monotonic() > deadline:
            raise RuntimeError(f"waited in vain for {what}")
        time.sleep(gap)
    return answer
