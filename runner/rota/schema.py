"""The schema's one source, `sql/`, as text to install, and the version it carries.

Types and tables are the shape; functions, views, comments and grants are the
behaviour; data is what a fresh database starts with. An installation is all of it in
one transaction.
"""

from __future__ import annotations

import os
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
from psycopg import errors

if TYPE_CHECKING:
    from collections.abc import Iterator

_HEAD = """\
/* rota @VERSION@: the whole schema, in one transaction.
   With psql: psql --set ON_ERROR_STOP=1 --file rota.sql */
begin isolation level read committed;

set local client_min_messages = warning;
set local check_function_bodies = on;
set local search_path = pg_catalog, pg_temp;

/* Of two installations at once the second waits here, and then finds the schema. */
select pg_advisory_xact_lock(hashtext('rota.install'));

do $$
begin
    if to_regnamespace('rota') is not null then
        raise exception 'schema rota already exists'
            using errcode = 'duplicate_schema',
                  hint = 'to start over: drop schema rota cascade';
    end if;
end;
$$;

create schema rota;
"""
_TAIL = "commit;\n"


class SchemaError(RuntimeError):
    """The schema in the database is not what was asked for."""


class AlreadyInstalled(SchemaError):
    """There is a schema rota in the database already."""


class NotInstalled(SchemaError):
    """There is no schema rota in the database, or it is not ours."""


class VersionMismatch(SchemaError):
    """The schema in the database and this package do not fit each other."""


def source() -> Path:
    """Return the folder `sql/`: beside this file in a wheel, or in the checkout.

    ROTA_SQL_DIR names another one, for the tests that break a copy of it on purpose.
    """
    if chosen := os.environ.get("ROTA_SQL_DIR"):
        return Path(chosen)
    here = Path(__file__).resolve().parent
    for folder in (here / "sql", here.parents[1] / "sql"):
        if (folder / "rota.control").is_file():
            return folder
    raise SchemaError("this copy of rota came without its SQL: install it again")


@cache
def version() -> str:
    """Return the version of this package and of the schema it installs."""
    control = (source() / "rota.control").read_text(encoding="utf-8")
    match = re.search(r"^default_version = '([^']+)'", control, re.MULTILINE)
    if match is None:
        raise SchemaError("rota.control names no default_version")
    return match[1]


def files() -> Iterator[Path]:
    """Yield the files of an installation in the order in which they run."""
    folder = source()
    yield from (folder / name for name in ("types.sql", "tables.sql"))
    yield from sorted((folder / "functions").glob("*/*.sql"))
    yield folder / "views.sql"
    if (folder / "comments.sql").exists():
        yield folder / "comments.sql"
    yield from (folder / name for name in ("grants.sql", "data.sql"))


def install_sql() -> str:
    """Return a script that installs rota, for `psql --file` or for `install`."""
    bodies = [path.read_text(encoding="utf-8").strip() + "\n" for path in files()]
    return "\n".join([_HEAD, *bodies, _TAIL]).replace("@VERSION@", version())


def install(connection: psycopg.Connection[tuple[object, ...]]) -> None:
    """Install rota in one transaction; nothing is left behind when it fails.

    Raises AlreadyInstalled when there is a schema rota, SchemaError when the
    connection is inside a transaction, and psycopg's error for anything else.
    """
    if connection.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
        raise SchemaError("rota cannot be installed inside another transaction")
    try:
        # Bytes and no parameters: one round trip of many statements.
        connection.execute(install_sql().encode())
    except errors.DuplicateSchema as error:
        connection.rollback()
        raise AlreadyInstalled(
            "schema rota already exists in this database: drop it to start over"
        ) from error
    except BaseException:
        if not connection.closed:
            connection.rollback()
        raise


def installed_version(
    connection: psycopg.Connection[tuple[object, ...]],
) -> str | None:
    """Return the version in the database; None when rota is not installed there."""
    found = connection.execute(
        "select to_regprocedure('rota.version()') is not null"
    ).fetchone()
    if found is None or not found[0]:
        return None
    row = connection.execute("select rota.version()").fetchone()
    return None if row is None else str(row[0])


async def handshake(
    connection: psycopg.AsyncConnection[tuple[object, ...]],
) -> str:
    """Return the version in the database, having checked that it fits this package.

    Raises NotInstalled, or VersionMismatch as `check_version` does.
    """
    try:
        cursor = await connection.execute("select rota.version()")
    except (errors.InvalidSchemaName, errors.UndefinedFunction) as error:
        raise NotInstalled(
            "rota is not installed in this database: run rota install"
        ) from error
    row = await cursor.fetchone()
    installed = str(row[0]) if row else ""
    check_version(installed)
    return installed


def check_version(installed: str) -> None:
    """Raise VersionMismatch unless a schema of that version serves this package.

    The schema may be newer than the package within one major version, so that it
    can be upgraded first; it may not be older.
    """
    schema, package = _major_minor(installed), _major_minor(version())
    if schema[0] == package[0] and schema >= package:
        return
    if schema < package:
        remedy = "run rota upgrade"
    else:
        remedy = "run pip install --upgrade rota"
    raise VersionMismatch(
        f"the database has rota {installed}, this package is {version()}: {remedy}"
    )


def _major_minor(text: str) -> tuple[int, int]:
    match = re.match(r"(\d+)\.(\d+)", text)
    if match is None:
        raise VersionMismatch(f"{text!r} is not a version of rota")
    return int(match[1]), int(match[2])


if __name__ == "__main__":
    print(install_sql(), end="")
