"""Installing: all or nothing, once, from one text, by whoever owns the database."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from rota import schema, scripts
from rota.demo.server import bindir
from waiting import PATIENCE, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from conftest import Connect


@pytest.fixture
def empty(empty_dsn: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(empty_dsn, autocommit=True) as connection:
        yield connection


def count_schemas(connection: psycopg.Connection[Any]) -> int:
    row = connection.execute(
        "select count(*) from pg_namespace where nspname = 'rota'"
    ).fetchone()
    return int(row[0]) if row else 0


@pytest.mark.parametrize("autocommit", [True, False])
def test_an_installed_schema_has_the_version_of_the_package(
    empty_dsn: str, autocommit: bool
) -> None:
    with psycopg.connect(empty_dsn, autocommit=autocommit) as connection:
        schema.install(connection)
        assert connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE
    with psycopg.connect(empty_dsn) as connection:
        assert schema.installed_version(connection) == schema.version()


def test_the_script_installs_with_psql(empty_dsn: str, tmp_path: Path) -> None:
    psql = shutil.which("psql") or str(bindir() / "psql")
    script = tmp_path / "rota.sql"
    script.write_text(scripts.install_sql())
    done = subprocess.run(
        [psql, "-X", "-q", "--set=ON_ERROR_STOP=1", f"--file={script}", empty_dsn],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    with psycopg.connect(empty_dsn) as connection:
        assert schema.installed_version(connection) == schema.version()


def test_a_second_installation_is_refused_and_the_session_stays_usable(
    empty: psycopg.Connection[Any],
) -> None:
    schema.install(empty)
    with pytest.raises(schema.AlreadyInstalled, match="is installed already"):
        schema.install(empty)
    assert schema.installed_version(empty) == schema.version()


def test_another_schema_of_that_name_is_not_touched(
    empty: psycopg.Connection[Any],
) -> None:
    empty.execute("create schema rota")
    empty.execute("create table rota.precious (id integer)")
    with pytest.raises(schema.AlreadyInstalled, match="not ours"):
        schema.install(empty)
    assert schema.installed_version(empty) is None
    assert empty.execute("select count(*) from rota.precious").fetchone() == (0,)


def test_a_failed_installation_leaves_nothing(
    empty: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = scripts.install_sql().replace("\ncommit;\n", "\nselect 1 / 0;\ncommit;\n")
    monkeypatch.setattr(scripts, "install_sql", lambda **_: broken)
    with pytest.raises(psycopg.errors.DivisionByZero):
        schema.install(empty)
    assert count_schemas(empty) == 0


def test_an_installation_inside_a_transaction_is_refused(empty_dsn: str) -> None:
    with psycopg.connect(empty_dsn) as connection:
        connection.execute("select 1")
        with pytest.raises(schema.SchemaError, match="inside another transaction"):
            schema.install(connection)
        assert count_schemas(connection) == 0


@pytest.mark.parametrize("is_first_kept", [True, False])
def test_of_two_installations_at_once_one_wins(
    empty_dsn: str, empty: psycopg.Connection[Any], is_first_kept: bool
) -> None:
    first = scripts.install_sql().removesuffix("commit;\n")

    def install_second() -> str:
        with psycopg.connect(empty_dsn, application_name="second") as connection:
            try:
                schema.install(connection)
            except schema.AlreadyInstalled:
                return "refused"
            return "installed"

    def is_second_waiting() -> bool:
        with psycopg.connect(empty_dsn) as observer:
            return (
                observer.execute(
                    "select from pg_stat_activity"
                    " where application_name = 'second' and wait_event_type = 'Lock'"
                    " and datname = current_database()"
                ).fetchone()
                is not None
            )

    empty.execute(first.encode())
    with ThreadPoolExecutor(1) as pool:
        second = pool.submit(install_second)
        try:
            wait_until(is_second_waiting)
        finally:
            empty.execute("commit" if is_first_kept else "rollback")
        assert second.result(PATIENCE) == ("refused" if is_first_kept else "installed")
    assert schema.installed_version(empty) == schema.version()


def test_the_owner_of_a_database_need_not_be_superuser(
    empty_dsn: str, empty: psycopg.Connection[Any]
) -> None:
    role = sql.Identifier(f"rota_test_owner_{os.getpid()}")
    database = sql.Identifier(str(conninfo_to_dict(empty_dsn)["dbname"]))
    # The template's installation has made the roles already, and somebody else's
    # roles must do; making them takes createrole, as on a managed server.
    empty.execute(sql.SQL("create role {} login createrole").format(role))
    try:
        empty.execute(
            sql.SQL("grant create on database {} to {}").format(database, role)
        )
        empty.execute(sql.SQL("set session authorization {}").format(role))
        schema.install(empty)
        assert schema.installed_version(empty) == schema.version()
    finally:
        empty.execute("reset session authorization")
        empty.execute("drop schema if exists rota cascade")
        empty.execute(sql.SQL("drop owned by {}").format(role))
        empty.execute(sql.SQL("drop role {}").format(role))


def test_a_search_path_full_of_traps_changes_nothing(
    empty: psycopg.Connection[Any],
) -> None:
    empty.execute("create schema trap")
    empty.execute("create table trap.job (id text)")
    empty.execute(
        "create function trap.to_regnamespace(text) returns regnamespace"
        " return 'trap'::regnamespace"
    )
    empty.execute("set search_path = trap, pg_catalog")
    schema.install(empty)
    assert empty.execute("show search_path").fetchone() == ("trap, pg_catalog",)
    assert schema.installed_version(empty) == schema.version()


@pytest.mark.parametrize(
    ("package", "installed"),
    [("0.1.0", "0.1.0"), ("0.1.0", "0.1.9"), ("0.1.5", "0.1.0"), ("0.1.0", "0.2.0")],
)
def test_a_schema_of_the_same_age_or_newer_fits(
    monkeypatch: pytest.MonkeyPatch, package: str, installed: str
) -> None:
    monkeypatch.setattr(schema, "version", lambda: package)
    schema.check_version(installed)


@pytest.mark.parametrize(
    ("package", "installed", "remedy"),
    [
        ("0.2.0", "0.1.0", "rota upgrade"),
        ("1.0.0", "0.9.0", "rota upgrade"),
        ("0.9.0", "1.0.0", "pip install --upgrade rota"),
    ],
)
def test_other_versions_are_refused_naming_both_and_the_remedy(
    monkeypatch: pytest.MonkeyPatch, package: str, installed: str, remedy: str
) -> None:
    monkeypatch.setattr(schema, "version", lambda: package)
    with pytest.raises(schema.VersionMismatch) as caught:
        schema.check_version(installed)
    for word in (package, installed, remedy):
        assert word in str(caught.value)


def shake_hands(conninfo: str) -> str:
    async def run() -> str:
        async with await psycopg.AsyncConnection.connect(conninfo) as connection:
            return await schema.handshake(connection)

    return asyncio.run(run())


def test_the_handshake_returns_the_version(dsn: str) -> None:
    assert shake_hands(dsn) == schema.version()


def test_the_handshake_says_when_rota_is_not_installed(empty_dsn: str) -> None:
    with pytest.raises(schema.NotInstalled, match="run rota install"):
        shake_hands(empty_dsn)


def test_the_handshake_says_when_the_versions_do_not_fit(
    dsn: str, connect: Connect
) -> None:
    connect().execute(
        "create or replace function rota.version() returns text"
        " language sql immutable parallel safe as $$ select '9.0.0' $$"
    )
    with pytest.raises(schema.VersionMismatch, match=r"9\.0\.0"):
        shake_hands(make_conninfo(dsn))
