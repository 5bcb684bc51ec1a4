"""`make demo`: checksum every file below a folder, with trouble on the way.

Environment:
  DEMO_DIR                the folder; default Python's standard library (but not what
                          was installed into it)
  ROTA_DSN, DATABASE_URL  a database to use; default a throw-away PostgreSQL
  KEEP=1                  leave the database as it is at the end
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import sysconfig
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
from psycopg import sql
from rich.console import Console
from rich.table import Table

from rota import schema
from rota.demo import work
from rota.demo.interrupts import interrupts
from rota.demo.play import Demo, DemoError
from rota.demo.report import Report, grouped
from rota.demo.server import ServerError, bindir, server, stop_command

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rota.demo.report import Connection

INSTALLED = {"site-packages", "dist-packages"}
EXIT_OFF = 1
EXIT_UNUSABLE = 2


def main() -> int:
    """Run the demo; 0 when everything is as it has to be."""
    console = Console(soft_wrap=True)
    interrupts.begin()
    try:
        return _main(console)
    except (DemoError, ServerError, schema.SchemaError, psycopg.Error) as error:
        print(f"demo: {error}", file=sys.stderr)
        return EXIT_UNUSABLE
    except KeyboardInterrupt:
        print("demo: interrupted", file=sys.stderr)
        return 130


def _main(console: Console) -> int:
    given = os.environ.get("DEMO_DIR")
    folder = Path(given or sysconfig.get_path("stdlib")).resolve()
    paths, unreadable_count = _files(folder, set() if given else INSTALLED)
    is_kept = os.environ.get("KEEP", "") not in {"", "0"}
    with _database(console, is_kept=is_kept) as dsn:
        plans = work.plan(paths)
        console.print(_description(folder, plans, unreadable_count), highlight=False)
        with psycopg.connect(dsn, autocommit=True) as connection:
            account = Demo(dsn, connection, console).run(plans)
        console.print(_table(account))
        if is_kept:
            _print_how_to_go_on(console, dsn)
        for row in account.rows:
            if row.is_off:
                console.print(
                    f"off: {row.name.strip()}: {row.found}, not {row.expected}"
                )
        console.print(account.last_line, highlight=False)
    return 0 if account.is_right else EXIT_OFF


def _files(folder: Path, skipped: set[str]) -> tuple[list[Path], int]:
    """Return the regular files below a folder, and how many more cannot be read.

    skipped: names of folders that are passed over.
    """
    if not folder.is_dir():
        raise DemoError(f"{folder} is not a folder")
    paths: list[Path] = []
    unreadable_count = 0
    for parent, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name not in skipped]
        for name in names:
            path = Path(parent, name)
            if path.is_symlink() or not path.is_file():
                continue
            if os.access(path, os.R_OK):
                paths.append(path)
            else:
                unreadable_count += 1
    if not paths:
        raise DemoError(f"there is no file to read below {folder}")
    return sorted(paths), unreadable_count


@contextmanager
def _database(console: Console, *, is_kept: bool) -> Iterator[str]:
    """Yield the DSN of a database with rota and a schema for the demo."""
    given = os.environ.get("ROTA_DSN") or os.environ.get("DATABASE_URL")
    if given:
        with psycopg.connect(given, autocommit=True) as connection:
            _say_version(console, connection, "the database you named")
            with _schemas(connection, is_kept=is_kept):
                yield given
        return
    with server(keep=is_kept) as dsn:
        with psycopg.connect(dsn, autocommit=True) as connection:
            _say_version(console, connection, "a throw-away server")
            schema.install(connection)
            connection.execute("create schema demo")
        yield dsn


def _say_version(console: Console, connection: Connection, what: str) -> None:
    version = connection.info.parameter_status("server_version")
    console.print(f"PostgreSQL {version}, {what}", highlight=False)


@contextmanager
def _schemas(connection: Connection, *, is_kept: bool) -> Iterator[None]:
    """Create the schemas demo and rota, and remove them unless they are kept.

    A database that has either is somebody's: it is left alone.
    """
    there = connection.execute(
        "select nspname from pg_namespace where nspname in ('rota', 'demo')"
    ).fetchone()
    if there:
        raise DemoError(
            f"there is a schema {there[0]} in this database already:"
            " the demo wants a database without"
        )
    before = _roles(connection)
    try:
        schema.install(connection)
        connection.execute("create schema demo")
        yield
    except BaseException:
        is_kept = False
        raise
    finally:
        if not is_kept:
            connection.execute("drop schema if exists demo, rota cascade")
            for role in _roles(connection) - before:
                # Another database may use them by now.
                with suppress(psycopg.errors.DependentObjectsStillExist):
                    connection.execute(
                        sql.SQL("drop role {}").format(sql.Identifier(role))
                    )


def _roles(connection: Connection) -> set[str]:
    """Say which of the roles that an installation makes are there."""
    rows = connection.execute(
        "select rolname from pg_roles where rolname in"
        " ('rota_producer', 'rota_worker', 'rota_operator', 'rota_observer')"
    )
    return {role for (role,) in rows}


def _description(
    folder: Path, plans: Sequence[work.Plan], unreadable_count: int
) -> str:
    flaky_count = sum(p.job.kind == "flaky checksum" for p in plans)
    poisoned_count = sum(p.is_poisoned for p in plans)
    text = (
        f"{grouped(len(plans))} files below {folder}:"
        f" {grouped(flaky_count)} fail 7 times in 10,"
        f" {grouped(poisoned_count)} are poisoned"
    )
    if unreadable_count:
        text += f"; left out, because unreadable: {grouped(unreadable_count)}"
    return text


def _table(account: Report) -> Table:
    table = Table()
    table.add_column("")
    table.add_column("in the database", justify="right")
    table.add_column("has to be", justify="right")
    for row in account.rows:
        table.add_row(
            row.name,
            grouped(row.found),
            grouped(row.expected),
            style="bold red" if row.is_off else None,
        )
    return table


def _print_how_to_go_on(console: Console, dsn: str) -> None:
    given = os.environ.get("ROTA_DSN") or os.environ.get("DATABASE_URL")
    psql = shutil.which("psql") or str(bindir() / "psql")
    stop = f"{psql} {shlex.quote(dsn)} --command 'drop schema demo, rota cascade'"
    if not given:
        stop = stop_command(dsn)
    console.print("look around with", f"    {psql} {shlex.quote(dsn)}", sep="\n")
    console.print("end it with", f"    {stop}", sep="\n")


if __name__ == "__main__":
    sys.exit(main())
