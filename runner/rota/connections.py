"""Connections to the database: how they are opened, shared out and tried again."""

from __future__ import annotations

import asyncio
import os
import random
import socket
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import TYPE_CHECKING, TypeAlias

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg_pool import AsyncConnectionPool, ConnectionPool

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from psycopg.rows import TupleRow

    from rota import protocol

    # Those of rota's own that are not lent to anybody.
    Connection: TypeAlias = psycopg.AsyncConnection[TupleRow]

# What libpq is told unless the DSN says otherwise: a network that has gone silent is
# noticed well within a lease.
_DEFAULTS = {
    "application_name": "rota",
    "connect_timeout": "10",
    "keepalives_idle": "5",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "20000",
}
_HOSTS = ("host", "hostaddr")
# What a session prepared is not there, or another's is.
_OF_POOLERS = (
    psycopg.errors.DuplicatePreparedStatement,
    psycopg.errors.InvalidSqlStatementName,
)
# psycopg's default; None never prepares, for poolers in transaction mode.
PREPARE_AFTER = 5
# For how long the pool goes on, with longer and longer pauses, about one connection it
# cannot open while handlers wait for it. The next handler to ask then tries anew.
RECONNECT_SECONDS = 3.0


def conninfo(dsn: str) -> str:
    """Return the DSN with rota's defaults for what it leaves open.

    Of several hosts, one that takes writes is meant. A single one is taken as it is: a
    pooler may still report the standby that its server has been (PgBouncer does).
    """
    given = conninfo_to_dict(dsn)
    hosts = [given.get(name) or os.environ.get(f"PG{name.upper()}") for name in _HOSTS]
    is_open = not os.environ.get("PGTARGETSESSIONATTRS")
    if is_open and any("," in str(host) for host in hosts):
        given.setdefault("target_session_attrs", "read-write")
    return make_conninfo("", **{**_DEFAULTS, **given})


def reason(error: Exception) -> str:
    """Say in one line why the database cannot be worked with just now."""
    if isinstance(error, psycopg.errors.ReadOnlySqlTransaction):
        said = error.diag.message_primary
        return f"this server takes no writes, it may be a standby: {said}"
    if isinstance(error, _OF_POOLERS):
        said = error.diag.message_primary
        return f"a pooler in transaction mode, it seems: use --no-listen: {said}"
    return " ".join(str(error).split()) or "no answer in time"


async def connect(dsn: str, prepare_after: int | None) -> Connection:
    """Open a connection in autocommit mode; raises psycopg.OperationalError."""
    return await psycopg.AsyncConnection.connect(
        conninfo(dsn), autocommit=True, prepare_threshold=prepare_after
    )


@asynccontextmanager
async def answered(connection: Connection, seconds: float) -> AsyncIterator[None]:
    """Cut the connection off when the block takes longer; it raises TimeoutError then.

    To cancel the statement instead would mean to wait for a server that may have gone
    without a word, as half-open connections do.
    """
    is_cut = False

    def cut() -> None:
        nonlocal is_cut
        is_cut = True
        with suppress(OSError), socket.socket(fileno=os.dup(connection.fileno())) as s:
            s.shutdown(socket.SHUT_RDWR)

    timer = asyncio.get_running_loop().call_later(seconds, cut)
    try:
        yield
    except psycopg.Error as error:
        if is_cut and connection.broken:
            raise TimeoutError(f"no answer within {seconds:.1f} s") from error
        raise
    finally:
        timer.cancel()


class Backoff:
    """Growing, jittered pauses between tries, in seconds."""

    def __init__(self, first: float = 0.1, cap: float = 30.0) -> None:
        self._first = first
        self._cap = cap
        self._next = first

    def reset(self) -> None:
        """Begin again: a try succeeded."""
        self._next = self._first

    def pause(self) -> float:
        """Return the next pause: between half of it and all of it, never over cap."""
        pause, self._next = self._next, min(self._next * 2, self._cap)
        return pause * random.uniform(0.5, 1.0)


class Effects:
    """Connections for the transactions of handlers, opened when they are asked for.

    size: the most connections at once to either kind of handler; idle ones are closed
        after a while.
    """

    def __init__(self, dsn: str, size: int, prepare_after: int | None) -> None:
        self._tries = range(size + 1)
        self._pool = ConnectionPool(
            conninfo(dsn),
            kwargs={"prepare_threshold": prepare_after},
            min_size=0,
            max_size=size,
            open=False,
            num_workers=1,
            reconnect_timeout=RECONNECT_SECONDS,
        )
        self._pool_async = AsyncConnectionPool(
            conninfo(dsn),
            kwargs={"prepare_threshold": prepare_after},
            min_size=0,
            max_size=size,
            open=False,
            num_workers=1,
            reconnect_timeout=RECONNECT_SECONDS,
        )

    @contextmanager
    def connection(self) -> Iterator[protocol.Connection]:
        """Lend a connection to a thread.

        Of those that lie there all may be dead, after a restart of the server. A check
        by the pool would pause for longer and longer after each.
        """
        self._pool.open()
        for _ in self._tries:
            with self._pool.connection() as connection:
                with suppress(psycopg.OperationalError):
                    ConnectionPool.check_connection(connection)
                if not connection.closed:
                    try:
                        yield connection
                    except psycopg.errors.ReadOnlySqlTransaction:
                        connection.close()  # it stays so; the server may not
                        raise
                    return
        raise psycopg.OperationalError("each connection was dead at once")

    @asynccontextmanager
    async def connection_async(self) -> AsyncIterator[protocol.AsyncConnection]:
        """Lend a connection to a coroutine."""
        await self._pool_async.open()
        for _ in self._tries:
            async with self._pool_async.connection() as connection:
                with suppress(psycopg.OperationalError):
                    await AsyncConnectionPool.check_connection(connection)
                if not connection.closed:
                    try:
                        yield connection
                    except psycopg.errors.ReadOnlySqlTransaction:
                        await connection.close()
                        raise
                    return
        raise psycopg.OperationalError("each connection was dead at once")

    async def close(self) -> None:
        """Close what is idle now, and the rest when it is given back."""
        await asyncio.to_thread(self._pool.close, 1.0)
        await self._pool_async.close(1.0)
