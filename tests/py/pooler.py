"""PgBouncer in transaction mode, for the tests to connect through.

If it is not installed, Debian's package is unpacked into `.cache/`, installing nothing.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

CACHE = Path(__file__).resolve().parents[2] / ".cache" / "pgbouncer"
PACKAGES = ("pgbouncer", "libc-ares2")
SETTINGS = """
[databases]
* = {server}
[pgbouncer]
listen_addr =
unix_socket_dir = {folder}
auth_type = any
pool_mode = transaction
default_pool_size = {size}
max_client_conn = 1000
server_reset_query = discard all
server_reset_query_always = {forgets}
"""
# It refuses to be root, as the server does; here root looks like somebody else.
UNPRIVILEGED = ("unshare", "--user", "--map-user=65534", "--map-group=65534", "--")


class UnavailableError(RuntimeError):
    """PgBouncer cannot be had here."""


def _run(*command: str | Path, cwd: Path | None = None) -> None:
    try:
        subprocess.run(
            command,
            cwd=cwd,
            env=_environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
    except (OSError, subprocess.SubprocessError) as error:
        said = getattr(error, "stderr", None) or error
        raise UnavailableError(f"no PgBouncer here: {said}") from error


def _environment() -> dict[str, str]:
    libraries = [str(path) for path in (CACHE / "usr" / "lib").glob("*-linux-*")]
    return {**os.environ, "LD_LIBRARY_PATH": ":".join(libraries)}


def _command() -> list[str | Path]:
    program: str | Path | None = shutil.which("pgbouncer")
    if program is None:
        if not CACHE.exists():
            CACHE.parent.mkdir(exist_ok=True)
            with tempfile.TemporaryDirectory(dir=CACHE.parent) as folder:
                partial = Path(folder)
                _run("apt-get", "download", *PACKAGES, cwd=partial)
                for archive in partial.glob("*.deb"):
                    _run("dpkg-deb", "--extract", archive, partial / "root")
                (partial / "root").rename(CACHE)
        program = CACHE / "usr" / "sbin" / "pgbouncer"
    command = [*(UNPRIVILEGED if os.geteuid() == 0 else ()), program]
    _run(*command, "--version")
    return command


@contextlib.contextmanager
def pooler(dsn: str, size: int, *, forgets: bool) -> Iterator[str]:
    """Run a pooler of `size` connections to the server; yields the DSN through it.

    forgets: whether everything a session said is discarded after each transaction.
        Else it is there for whoever gets the connection next.

    Raises UnavailableError when there is no PgBouncer.
    """
    command = _command()
    server = conninfo_to_dict(dsn)
    names = ("host", "port", "user", "password")
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        settings = folder / "pgbouncer.ini"
        settings.write_text(
            SETTINGS.format(
                server=" ".join(f"{n}={server[n]}" for n in names if n in server),
                folder=folder,
                size=size,
                forgets=int(forgets),
            )
        )
        log = stack.enter_context((folder / "log").open("w"))
        process = subprocess.Popen(
            [*command, settings], env=_environment(), stdout=log, stderr=log
        )
        stack.callback(process.wait)
        stack.callback(process.terminate)
        through = make_conninfo(dsn, host=str(folder), port=6432)

        def is_up() -> bool:
            assert process.poll() is None, (folder / "log").read_text()
            with contextlib.suppress(psycopg.OperationalError):
                psycopg.connect(through).close()
                return True
            return False

        wait_until(is_up)
        yield through
