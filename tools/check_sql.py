"""Check every PL/pgSQL body of an installed rota with plpgsql_check.

The extension is looked for on ROTA_TEST_DSN's server; else Debian's packages of a
server and the extension are unpacked into `.cache/`, without installing anything. Where
neither works this says so and succeeds, except under CI, where it fails.
"""

from __future__ import annotations

import contextlib
import os
import sys
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg.conninfo import make_conninfo

from plpgsql_check import UnavailableError, checked_server
from rota import schema

if TYPE_CHECKING:
    from collections.abc import Iterator

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
    with checked_server() as dsn:
        yield dsn


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
