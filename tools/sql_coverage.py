"""Run tests on a server that profiles PL/pgSQL, and say what they leave out.

    python tools/sql_coverage.py [paths and options for pytest]

plpgsql_check counts how often each statement was executed. Its counts are kept for each
database, of which every test has one of its own: tests/conftest.py has them noted here
before it drops one. Counted are PL/pgSQL functions only: those in SQL are one statement
each and are not profiled, neither are branches within a statement.

Fails under 98 % of statements, with a branch never taken that `uncovered.toml` gives no
reason for, and with a reason there for a branch that is taken or is not there.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg.conninfo import make_conninfo

from plpgsql_check import UnavailableError, checked_server
from rota import schema

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

CHECKOUT = Path(__file__).resolve().parents[1]
REASONS = Path(__file__).with_name("uncovered.toml")
FOLDER = "ROTA_SQL_COVERAGE"  # where tests note their counts
FLOOR = 0.98
SETTINGS = {
    "max_connections": "200",
    "max_prepared_transactions": "20",
    "jit": "off",  # of which a packaged server has more than it is worth here
    "shared_preload_libraries": "plpgsql,plpgsql_check",
    "plpgsql_check.profiler": "on",
}
# Those that meet more of the SQL than others do; what they leave out, none covers.
TESTS = (
    "tests/sql",
    "tests/py/test_all_verbs.py",
    "tests/py/test_claim_race.py",
    "tests/py/test_enqueue_race.py",
    "tests/py/test_floors.py",
    "tests/py/test_lifecycle_race.py",
    "tests/py/test_lock_order.py",
    "tests/py/test_rivals.py",
)

# The body is part of a statement's name: tests replace functions and install others.
STATEMENTS = """
select
    f.proname, md5(f.prosrc), s.stmtid, s.parent_stmtid, s.parent_note, s.block_num,
    s.lineno, s.exec_stmts, s.stmtname
from pg_proc as f
join pg_language as l on l.oid = f.prolang
cross join lateral plpgsql_check.plpgsql_profiler_function_statements_tb(f.oid) as s
where f.pronamespace = to_regnamespace('rota') and l.lanname = 'plpgsql'
order by f.proname, s.stmtid
"""
# There is room for 15,000 chunks of counts in the server's memory, whosever they are.
FORGET = """
select plpgsql_check.plpgsql_profiler_reset(f.oid)
from plpgsql_check.plpgsql_profiler_functions_all() as a
join pg_proc as f on f.oid = a.funcoid
"""
SOURCES = """
select f.proname, f.prosrc
from pg_proc as f
where f.pronamespace = 'rota'::regnamespace
"""


@dataclass(frozen=True, slots=True)
class Statement:
    """A line of the profiler's answer."""

    function: str
    body: str
    number: int
    parent: int | None
    part: str | None
    place: int
    line: int
    count: int
    what: str


@dataclass(frozen=True, slots=True)
class Branch:
    """One way on from a statement."""

    function: str
    name: str
    line: int
    count: int


def _statements(connection: psycopg.Connection[Any]) -> list[Statement]:
    connection.execute("create schema if not exists plpgsql_check")
    connection.execute(
        "create extension if not exists plpgsql_check schema plpgsql_check"
    )
    return [Statement(*row) for row in connection.execute(STATEMENTS)]


def note(dsn: str) -> None:
    """Add what was executed in a database to this run's counts, if there is one."""
    if folder := os.environ.get(FOLDER):
        with psycopg.connect(dsn, autocommit=True) as connection:
            executed = [
                ((s.function, s.body, s.number), s.count)
                for s in _statements(connection)
                if s.count
            ]
            connection.execute(FORGET)
        with (Path(folder) / str(os.getpid())).open("a") as file:
            file.write(json.dumps(executed) + "\n")


def _noted(folder: Path) -> Counter[tuple[str, str, int]]:
    total: Counter[tuple[str, str, int]] = Counter()
    for path in folder.iterdir():
        for line in path.read_text().splitlines():
            for key, count in json.loads(line):
                total[tuple(key)] += count
    return total


def _branches(
    statements: Iterable[Statement], lines: dict[str, list[str]]
) -> Iterator[Branch]:
    """Yield the parts of compound statements, and the ways past an if without else."""
    statements = list(statements)
    taken: Counter[tuple[str, int]] = Counter()
    parts: dict[tuple[str, int], set[str]] = {}
    for s in statements:
        if s.place == 1 and s.part and s.part != "body" and s.parent is not None:
            taken[s.function, s.parent] += s.count
            parts.setdefault((s.function, s.parent), set()).add(s.part)
            part = s.part.removesuffix(" body").rstrip(" 0123456789")
            text = lines[s.function][s.line - 1].strip()
            yield Branch(s.function, f"{part}: {text}", s.line, s.count)
    for s in statements:
        if s.what == "IF" and "else body" not in parts[s.function, s.number]:
            text = lines[s.function][s.line - 1].strip()
            count = s.count - taken[s.function, s.number]
            yield Branch(s.function, f"not: {text}", s.line, count)


def report(
    statements: list[Statement], branches: list[Branch], reasons: dict[str, Any]
) -> bool:
    """Print what was left out; returns whether that is too much."""
    left_out = [s for s in statements if not s.count]
    uncovered = [b for b in branches if not b.count]
    is_bad = False
    for s in left_out:
        print(f"rota.{s.function}:{s.line}: {s.what} is never executed")
    given = {(f, name) for f, named in reasons.items() for name in named}
    for b in uncovered:
        reason = reasons.get(b.function, {}).get(b.name)
        print(f"rota.{b.function}:{b.line}: never taken, {b.name}")
        print(f"    {reason or 'NO REASON GIVEN'}")
        is_bad = is_bad or reason is None
    for function, name in sorted(given - {(b.function, b.name) for b in uncovered}):
        print(f"{REASONS.name}: rota.{function} has no such branch untaken: {name}")
        is_bad = True
    share = 1 - len(left_out) / len(statements)
    print(
        f"sql-coverage: {len({s.function for s in statements})} functions, "
        f"statements {share:.2%} of {len(statements)}, branches "
        f"{1 - len(uncovered) / len(branches):.2%} of {len(branches)}; "
        "functions in SQL are not counted"
    )
    return is_bad or share < FLOOR


def _measured(dsn: str, folder: Path) -> tuple[list[Statement], list[Branch]]:
    counts = _noted(folder)
    with psycopg.connect(dsn, autocommit=True) as admin:
        admin.execute("create database rota_coverage template template0")
    conninfo = make_conninfo(dsn, dbname="rota_coverage")
    with psycopg.connect(conninfo, autocommit=True) as connection:
        schema.install(connection)
        found = _statements(connection)
        lines = {f: body.split("\n") for f, body in connection.execute(SOURCES)}
    statements = [
        replace(s, count=s.count + counts[s.function, s.body, s.number]) for s in found
    ]
    branches = list(_branches(statements, lines))
    # The block around a function that has another one is not in its text.
    return [s for s in statements if s.line > 0], branches


def main(arguments: list[str]) -> int:
    """Return 1 when too much is left out, or a test fails."""
    has_paths = any(not argument.startswith("-") for argument in arguments)
    try:
        with checked_server(SETTINGS) as dsn, tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(
                [
                    *(sys.executable, "-m", "pytest", "-q", "-m", "not slow"),
                    *("-o", "verbosity_subtests=0", "--timeout=600", "-n2"),
                    *(() if has_paths else TESTS),
                    *arguments,
                ],
                cwd=CHECKOUT,
                env=os.environ | {"ROTA_TEST_DSN": dsn, FOLDER: folder},
                check=False,
            )
            statements, branches = _measured(dsn, Path(folder))
    except UnavailableError as error:
        print(f"sql-coverage: SKIPPED, no plpgsql_check: {error}", file=sys.stderr)
        return 1 if os.environ.get("CI") else 0
    reasons = tomllib.loads(REASONS.read_text(encoding="utf-8"))
    return int(report(statements, branches, reasons) or done.returncode != 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
