"""A server with plpgsql_check: Debian's, unpacked into `.cache/` without installing."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from rota.demo.server import ServerError, server

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

CACHE = Path(__file__).resolve().parents[1] / ".cache" / "debian"


class UnavailableError(RuntimeError):
    """plpgsql_check cannot be had here."""


def _run(*command: str, cwd: Path | None = None) -> str:
    done = subprocess.run(
        command,
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise UnavailableError(f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout


def _package() -> str:
    """Name Debian's newest package of the extension, fetching the index if need be."""
    for command in ((), ("apt-get", "update")):
        if command:
            _run(*command)
        names = _run("apt-cache", "pkgnames", "postgresql-").split()
        found = [n for n in names if n.endswith("-plpgsql-check")]
        if found:
            return max(found, key=lambda n: int(n.split("-")[1]))
    raise UnavailableError("apt knows no package of plpgsql_check")


def bindir() -> Path:
    """Unpack a server and the extension; return where the server's programs are.

    Raises UnavailableError.
    """
    if not all(map(shutil.which, ("apt-get", "apt-cache", "dpkg-deb"))):
        raise UnavailableError("this is not Debian or a relative of it")
    package = _package()
    server_package = package.removesuffix("-plpgsql-check")
    major = server_package.split("-")[1]
    home = CACHE / package
    if not home.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=CACHE) as folder:
            partial = Path(folder)
            _run("apt-get", "download", package, server_package, cwd=partial)
            for archive in partial.glob("*.deb"):
                _run("dpkg-deb", "--extract", str(archive), str(partial / "root"))
            (partial / "root").rename(home)
    return home / "usr" / "lib" / "postgresql" / major / "bin"


@contextlib.contextmanager
def checked_server(settings: Mapping[str, str] | None = None) -> Iterator[str]:
    """Run that server for the length of the block; yields its DSN.

    Raises UnavailableError.
    """
    os.environ["ROTA_PG_BINDIR"] = str(bindir())
    try:
        with server(settings=settings) as dsn:
            yield dsn
    except ServerError as error:
        raise UnavailableError(f"Debian's server does not run here: {error}") from error
