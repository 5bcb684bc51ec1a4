"""Two PostgreSQL servers, the second a synchronous standby of the first."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from rota.demo.server import bindir, server
from waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# fsync matters to a machine that loses its power; here only processes die.
_SETTINGS = {"fsync": "off", "max_connections": "100"}
_STANDBY = "second"


@dataclass(frozen=True, slots=True)
class Node:
    """A server: how to reach it, and where its data are."""

    dsn: str
    data: Path

    def connect(self) -> psycopg.Connection[Any]:
        return psycopg.connect(self.dsn, autocommit=True)

    def kill(self) -> None:
        """SIGKILL every process of the server at once, as a dying machine would."""
        postmaster = int((self.data / "postmaster.pid").read_text().split()[0])
        with self.connect() as session:
            # Stopped first, so that it starts no other while its children die.
            os.kill(postmaster, signal.SIGSTOP)
            children = session.execute("select pid from pg_stat_activity").fetchall()
            for pid in (*(pid for (pid,) in children), postmaster):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)


@dataclass(frozen=True, slots=True)
class Cluster:
    """A primary whose commits wait for its standby.

    dsn: of both servers, for whoever wants the one that takes writes.
    """

    primary: Node
    standby: Node

    @property
    def dsn(self) -> str:
        hosts = [
            str(conninfo_to_dict(node.dsn)["host"])
            for node in (self.primary, self.standby)
        ]
        return make_conninfo(
            self.primary.dsn, host=",".join(hosts), target_session_attrs="read-write"
        )

    def promote(self) -> None:
        """Make the standby a primary, and wait until it takes writes."""
        with self.standby.connect() as session:
            assert session.execute("select pg_promote()").fetchone() == (True,)


@contextlib.contextmanager
def cluster(folder: Path) -> Iterator[Cluster]:
    """Run the two for the length of the block, their data below `folder`."""
    with contextlib.ExitStack() as stack:
        first, second = folder / "first", folder / "second"
        dsn = stack.enter_context(
            server(durable=True, settings=_SETTINGS, directory=first)
        )
        source = make_conninfo(dsn, application_name=_STANDBY)
        _copy(source, second)
        # The one that -R writes names the folder, too; this also names the standby.
        settings = _SETTINGS | {"primary_conninfo": source}
        standby = stack.enter_context(
            server(durable=True, settings=settings, directory=second)
        )
        made = Cluster(Node(dsn, first), Node(standby, second))
        with made.primary.connect() as session:
            session.execute(
                f"alter system set synchronous_standby_names = '{_STANDBY}'".encode()
            )
            session.execute("select pg_reload_conf()")
            wait_until(
                lambda: (
                    session.execute(
                        "select sync_state from pg_stat_replication"
                    ).fetchall()
                    == [("sync",)]
                )
            )
        yield made


def _copy(source: str, data: Path) -> None:
    command = [
        *(str(bindir() / "pg_basebackup"), "--dbname", source, "--pgdata", str(data)),
        *("--write-recovery-conf", "--checkpoint=fast", "--no-sync"),
    ]
    subprocess.run(command, capture_output=True, check=True)
