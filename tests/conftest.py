"""The database under every test.

One server for a run: ROTA_TEST_DSN if set, else a container if a docker engine
answers, else the embedded PostgreSQL; ROTA_TEST_PG=docker or =embedded insists. On it
one template database with rota and pgTAP, and for each test a copy of that. With
ROTA_TEST_UPGRADED_FROM=version the template is an upgrade of that release.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Protocol

import psycopg
import pytest
from hypothesis import settings
from psycopg import sql
from psycopg.conninfo import make_conninfo

import invariants
import sql_coverage
from fetch_pgtap import FetchError, pgtap_sql
from releases import NoHistory, install_sql
from rota import schema
from rota.demo.server import ServerError, server

if TYPE_CHECKING:
    from collections.abc import Iterator

_DSN = "ROTA_TEST_DSN"
_TEMPLATE = "ROTA_TEST_TEMPLATE"  # for the workers of pytest-xdist, which inherit it
_SETTINGS = {"max_connections": "200", "max_prepared_transactions": "20"}
# For pytest's --hypothesis-profile: histories of test_model.py that are new each time.
settings.register_profile("long", max_examples=3000, derandomize=False)
_how = pytest.StashKey[str]()
_numbers = itertools.count(1)


class Connect(Protocol):
    """Opens one more session on the test's database; keywords go to psycopg."""

    def __call__(self, **options: Any) -> psycopg.Connection[Any]: ...


def _docker_answers() -> bool:
    import docker

    try:
        docker.from_env(timeout=2).ping()
    except (docker.errors.DockerException, OSError):
        return False
    return True


def _start(stack: contextlib.ExitStack) -> tuple[str, str]:
    """Find or start the server; returns its DSN and what it is."""
    if given := os.environ.get(_DSN):
        return given, _DSN
    wanted = os.environ.get("ROTA_TEST_PG", "auto")
    if wanted == "docker" or (wanted == "auto" and _docker_answers()):
        from testcontainers.community.postgres import PostgresContainer

        image = os.environ.get("ROTA_TEST_IMAGE", "postgres:18")
        container = stack.enter_context(PostgresContainer(image, driver=None))
        return container.get_connection_url(driver=None), f"container {image}"
    return stack.enter_context(server(settings=_SETTINGS)), "embedded"


def _admin(dsn: str) -> psycopg.Connection[tuple[Any, ...]]:
    return psycopg.connect(dsn, autocommit=True)


def _create(dsn: str, name: str, template: str) -> str:
    identifier = sql.Identifier(name)
    with _admin(dsn) as admin:
        admin.execute(
            sql.SQL("create database {} template {}").format(
                identifier, sql.Identifier(template)
            )
        )
        # Not copied with a template, hence here: what plpgsql would only warn about
        # (shadowing, arity, several rows into one variable) is an error in tests.
        admin.execute(
            sql.SQL("alter database {} set plpgsql.extra_errors = 'all'").format(
                identifier
            )
        )
    return make_conninfo(dsn, dbname=name)


def _drop(dsn: str, name: str) -> None:
    with _admin(dsn) as admin:
        # Forced, a drop waits for sessions that it ends, but for five seconds only.
        admin.execute(
            "select pg_terminate_backend(pid, 60000) from pg_stat_activity"
            " where datname = %s",
            [name],
        )
        admin.execute(
            sql.SQL("drop database if exists {} with (force)").format(
                sql.Identifier(name)
            )
        )


def _fill(dsn: str) -> None:
    with _admin(dsn) as connection:
        if earlier := os.environ.get("ROTA_TEST_UPGRADED_FROM"):
            connection.execute(install_sql(earlier).encode())
            schema.upgrade(connection, patience=timedelta(minutes=1))
        else:
            schema.install(connection)
        connection.execute("create schema tap")
        if connection.execute(
            "select from pg_available_extensions where name = 'pgtap'"
        ).fetchone():
            connection.execute("create extension pgtap schema tap")
        else:
            connection.execute("set search_path = tap, public")
            connection.execute(pgtap_sql().encode())


def pytest_configure(config: pytest.Config) -> None:
    # A shell that runs us in the background has us ignore what tests send, and what we
    # start would inherit that.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if hasattr(config, "workerinput"):
        return
    stack = contextlib.ExitStack()
    config.add_cleanup(stack.close)
    template = f"rota_template_{os.getpid()}"
    try:
        dsn, how = _start(stack)
        stack.callback(_drop, dsn, template)
        _fill(_create(dsn, template, "template0"))
    except NoHistory as error:
        pytest.exit(f"nothing tested: {error}", returncode=0)
    except (ServerError, FetchError, psycopg.Error) as error:
        raise pytest.UsageError(str(error)) from error
    with _admin(dsn) as admin:
        release = admin.info.parameter_status("server_version")
    earlier = os.environ.get("ROTA_TEST_UPGRADED_FROM")
    upgraded = f", rota upgraded from {earlier}" if earlier else ""
    config.stash[_how] = f"{how}, version {release}{upgraded}"
    os.environ |= {_DSN: dsn, _TEMPLATE: template}
    stack.callback(os.environ.pop, _TEMPLATE)


def pytest_report_header(config: pytest.Config) -> str:
    return f"postgres: {config.stash.get(_how, '')}"


@contextlib.contextmanager
def _database(template: str | None = None) -> Iterator[str]:
    server_dsn = os.environ[_DSN]
    name = f"rota_test_{os.getpid()}_{next(_numbers)}"
    try:
        conninfo = _create(server_dsn, name, template or os.environ[_TEMPLATE])
        yield conninfo
        sql_coverage.note(conninfo)
    finally:
        _drop(server_dsn, name)


@pytest.fixture
def dsn() -> Iterator[str]:
    """A fresh database with rota in it, dropped after the test."""
    with _database() as conninfo:
        yield conninfo


@pytest.fixture
def empty_dsn() -> Iterator[str]:
    """A fresh database without rota, dropped after the test."""
    with _database("template0") as conninfo:
        yield conninfo


@pytest.fixture
def connect(dsn: str) -> Iterator[Connect]:
    """Open sessions on the test's database, in autocommit unless told otherwise."""
    with contextlib.ExitStack() as stack:

        def open_session(**options: Any) -> psycopg.Connection[Any]:
            options.setdefault("autocommit", True)
            return stack.enter_context(
                contextlib.closing(psycopg.connect(dsn, **options))
            )

        yield open_session


@pytest.fixture(scope="session")
def pgtap_connection() -> Iterator[psycopg.Connection[Any]]:
    """The session that runs tests/sql, each file inside a rolled-back transaction.

    What must always hold is there as the view tap.violations.
    """
    with (
        _database() as conninfo,
        psycopg.connect(
            conninfo, autocommit=True, options="-c search_path=public,tap"
        ) as connection,
    ):
        view = f"create view tap.violations as {invariants.QUERY}"
        connection.execute(view.encode())
        yield connection
