"""Check every PL/pgSQL body of an installed rota with plpgsql_check.

The extension is looked for on ROTA_TEST_DSN's server; else Debian's packages of a
server and the extension are unpacked into `.cache/`, without installing anything. Where
neither works this says so and succeeds, except under CI, where it fails.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg.conninfo import make_conninfo

from rota import schema
from rota.demo.server import ServerError, server

if TYPE_CHECKING:
    from collections.abc import Iterator

CACHE = Path(__file__).resolve().parents[1] / ".cache" / "debian"
DATABASE = f"rota_check_{os.getpid()}"

FINDINGS = """
select f.proname, c.lineno, c.level, c.sqlstate, c.message, c.detail, c.hint
from pg_proc as f
join pg_language as l on l.oid = f.prolang
left join pg_trigger as t on t.tgfoid = f.oid
cross join lateral plpgsql_check_function_tb(
    funcoid => f.oid,
    relid => coalesce(t.tgrelid, 0),
    fatal_errors => false,
    extra_warnings => true,
    security_warnings => true,
    performance_warnings => false
) as c
where
    f.pronamespace = 'rota'::regnamespace
    and l.lanname = 'plpgsql'
    -- Only return leaves an endless loop, which the checker does not see.
    and not (
        c.sqlstate = '2F005'
        and f.prosrc ~ '\n    loop\n.*\n    end loop;\nend;\n$'
    )
order by f.proname, c.lineno
"""
COUNT = """
select count(*)
from pg_proc as f
join pg_language as l on l.oid = f.prolang
where f.pronamespace = 'rota'::regnamespace and l.lanname = 'plpgsql'
"""


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


def _debian_bindir() -> Path:
    """Unpack a server and the extension; return where the server's programs are."""
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
def _database(dsn: str) -> Iterator[psycopg.Connection[tuple[Any, ...]]]:
    with psycopg.connect(dsn, autocommit=True) as admin:
        admin.execute(f"create database {DATABASE} template template0".encode())
        try:
            conninfo = make_conninfo(dsn, dbname=DATABASE)
            with psycopg.connect(conninfo, autocommit=True) as connection:
                yield connection
        finally:
            admin.execute(f"drop database {DATABASE} with (force)".encode())


def _has_extension(dsn: str) -> bool:
    with psycopg.connect(dsn) as connection:
        return (
            connection.execute(
                "select from pg_available_extensions where name = 'plpgsql_check'"
            ).fetchone()
            is not None
        )


@contextlib.contextmanager
def _server() -> Iterator[str]:
    given = os.environ.get("ROTA_TEST_DSN")
    if given and _has_extension(given):
        yield given
        return
    os.environ["ROTA_PG_BINDIR"] = str(_debian_bindir())
    try:
        with server() as dsn:
            yield dsn
    except ServerError as error:
        raise UnavailableError(f"Debian's server does not run here: {error}") from error


def main() -> int:
    """Print what is found; 1 when anything is."""
    try:
        with _server() as dsn, _database(dsn) as connection:
            schema.install(connection)
            connection.execute("create extension plpgsql_check")
            count = connection.execute(COUNT).fetchone()
            findings = connection.execute(FINDINGS).fetchall()
    except UnavailableError as error:
        print(f"check-sql: SKIPPED, no plpgsql_check here: {error}", file=sys.stderr)
        return 1 if os.environ.get("CI") else 0
    for name, line, level, code, message, *more in findings:
        print(f"rota.{name}:{line}: {level} {code}: {message}")
        for text in filter(None, more):
            print(f"    {text}")
    print(f"check-sql: {count and count[0]} functions, {len(findings)} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
