"""rota as an extension: the same functions, dumps with its rows, updates, removal."""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest
from psycopg import errors
from psycopg.conninfo import make_conninfo

from dumps import dump, restore
from every_state import content, fill, go_on
from extension_server import extension_server
from releases import CHECKOUT, NoHistory
from releases import release as earlier_release
from rota import schema, scripts
from rota.demo.server import bindir
from sessions import Session, column, rows, value
from waiting import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from conftest import Connect

_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def running() -> Iterator[tuple[str, Path]]:
    with extension_server() as (dsn, folder):
        scripts.write(folder)
        yield dsn, folder


@pytest.fixture
def database(running: tuple[str, Path]) -> Iterator[Callable[[], str]]:
    """Make empty databases on the server that has the extension's files."""
    dsn, _ = running
    names: list[str] = []

    def make() -> str:
        names.append(f"extended_{next(_numbers)}")
        with psycopg.connect(dsn, autocommit=True) as admin:
            admin.execute(f"create database {names[-1]}".encode())
        return make_conninfo(dsn, dbname=names[-1])

    yield make
    with psycopg.connect(dsn, autocommit=True) as admin:
        for name in names:
            admin.execute(f"drop database {name} with (force)".encode())


@pytest.fixture
def target(database: Callable[[], str]) -> str:
    return database()


@pytest.fixture
def session(target: str) -> Iterator[Session]:
    with psycopg.connect(target, autocommit=True) as connection:
        yield connection


def old_files(version: str, folder: Path, work: Path) -> None:
    """Write the extension's script of an earlier release, which had none of its own."""
    try:
        old = earlier_release(version) / "sql"
    except NoHistory as error:
        pytest.skip(str(error))
    shutil.copytree(scripts.source(), work)
    shutil.rmtree(work / "functions")
    shutil.copytree(old / "functions", work / "functions")
    for name in ("types", "tables", "views", "comments", "grants"):
        shutil.copy(old / f"{name}.sql", work)
    for name in ("roles", "revokes"):  # stood in grants.sql
        (work / f"{name}.sql").write_text("")
    control = (work / "rota.control").read_text()
    (work / "rota.control").write_text(control.replace(schema.version(), version))
    script = subprocess.run(
        [
            *(sys.executable, "-c"),
            "from rota import scripts; print(scripts.extension_sql())",
        ],
        env=os.environ | {"ROTA_SQL_DIR": str(work)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    (folder / f"rota--{version}.sql").write_text(script)


DEFINITIONS = """
select pg_get_functiondef(p.oid), p.proacl::text, obj_description(p.oid, 'pg_proc')
from pg_proc as p
where p.pronamespace = 'rota'::regnamespace and p.proname <> '_on_restore_insert'
union all
select
    concat_ws(' ', c.relname, a.attname, format_type(a.atttypid, a.atttypmod)),
    c.relacl::text,
    coalesce(col_description(c.oid, a.attnum), obj_description(c.oid, 'pg_class'))
from pg_class as c
inner join pg_attribute as a on a.attrelid = c.oid and a.attnum > 0
where
    c.relnamespace = 'rota'::regnamespace and c.relkind not in ('i', 'I')
    and c.relname !~ '\\d{8}'
order by 1, 2
"""


def members(session: Session) -> list[str]:
    return column(
        session,
        "select pg_describe_object(classid, objid, 0) from pg_depend"
        " where refclassid = 'pg_extension'::regclass and deptype = 'e' and"
        " refobjid = (select oid from pg_extension where extname = 'rota') order by 1",
    )


def test_an_extension_has_what_the_script_installs(
    session: Session, connect: Connect
) -> None:
    session.execute("create extension rota")
    assert column(session, "select extversion from pg_extension where extname = 'rota'")
    assert schema.installed_version(session) == schema.version()
    assert rows(session, DEFINITIONS) == rows(connect(), DEFINITIONS)
    fill(session)
    go_on(session)


def test_partitions_come_and_go_though_their_table_is_the_extensions(
    session: Session,
) -> None:
    session.execute("create extension rota")
    assert not rows(session, PARTITIONS)
    fill(session)
    made = len(rows(session, PARTITIONS))
    assert made >= 8
    session.execute("select rota.alter_settings(retention => '1 day')")
    assert value(session, "select rota.ensure_partitions()")
    assert len(rows(session, PARTITIONS)) < made


PARTITIONS = "select relname from pg_class where relname ~ '_\\d{8}$'"


def test_a_dump_of_an_extension_carries_its_rows(
    session: Session, target: str, database: Callable[[], str]
) -> None:
    session.execute("create extension rota")
    fill(session)
    check_restored(session, target, database())


def test_a_dump_of_what_nobody_changed_is_restored(
    session: Session, target: str, database: Callable[[], str]
) -> None:
    session.execute("create extension rota")
    before = content(session)
    restored = database()
    restore(restored, dump(target))
    with psycopg.connect(restored, autocommit=True) as connection:
        assert content(connection) == before


def check_restored(session: Session, source: str, restored: str) -> None:
    before = content(session)
    restore(restored, dump(source))
    with psycopg.connect(restored, autocommit=True) as connection:
        assert content(connection) == before
        assert members(connection) == members(session)
        go_on(connection)


@pytest.mark.parametrize("by_hand", [True, False])
def test_an_extension_is_updated_with_all_that_is_in_it(
    session: Session,
    target: str,
    database: Callable[[], str],
    running: tuple[str, Path],
    tmp_path: Path,
    connect: Connect,
    by_hand: bool,
) -> None:
    version = scripts.FIRST
    old_files(version, running[1], tmp_path / "sql")
    session.execute(f"create extension rota version '{version}'".encode())
    assert schema.installed_version(session) == version
    fill(session)
    if by_hand:
        session.execute("alter extension rota update")
    else:
        assert schema.upgrade(session, patience=timedelta(seconds=PATIENCE)) == version
    assert schema.installed_version(session) == schema.version()
    assert rows(session, DEFINITIONS) == rows(connect(), DEFINITIONS)

    fresh = database()
    with psycopg.connect(fresh, autocommit=True) as other:
        other.execute("create extension rota")
        assert members(session) == members(other)
    check_restored(session, target, database())


def test_an_update_says_when_the_server_lacks_the_files(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    session.execute("create extension rota")
    monkeypatch.setattr(schema, "version", lambda: "999.0.0")
    with pytest.raises(schema.SchemaError, match="make install"):
        schema.upgrade(session, patience=timedelta(seconds=PATIENCE))


def test_the_plain_script_leaves_an_extension_alone(session: Session) -> None:
    session.execute("create extension rota")
    with pytest.raises(schema.AlreadyInstalled, match="is installed already"):
        schema.install(session)
    with pytest.raises(psycopg.Error, match="installed as an extension"):
        session.execute(scripts.upgrade_sql(scripts.FIRST).encode())
    session.rollback()


def test_an_extension_is_refused_over_the_plain_form(session: Session) -> None:
    schema.install(session)
    with pytest.raises(errors.DuplicateSchema, match="not empty") as caught:
        session.execute("create extension rota")
    assert caught.value.diag.message_hint
    assert "rota upgrade" in caught.value.diag.message_hint
    assert value(session, "select rota.enqueue('work')")


def test_an_extension_is_refused_over_a_foreign_schema(session: Session) -> None:
    session.execute("create schema rota; create table rota.precious ()")
    with pytest.raises(errors.DuplicateSchema, match="not empty"):
        session.execute("create extension rota")
    assert not rows(session, "select from rota.precious")


def test_an_extension_is_refused_in_a_schema_of_somebody_else(
    session: Session, owner: str
) -> None:
    session.execute("create schema rota; grant create on schema rota to public")
    session.execute(f"set session authorization {owner}".encode())
    with pytest.raises(errors.InsufficientPrivilege):
        session.execute("create extension rota")


@pytest.fixture
def owner(session: Session) -> Iterator[str]:
    """A role that may create roles, and schemas in the database."""
    name = f"rota_test_owner_{os.getpid()}"
    session.execute(f"create role {name} login createrole".encode())
    session.execute(
        f"grant create on database {session.info.dbname} to {name}".encode()
    )
    yield name
    session.execute("reset session authorization")
    session.execute(f"drop owned by {name} cascade; drop role {name}".encode())


def test_an_extension_needs_no_superuser(session: Session, owner: str) -> None:
    session.execute(f"set session authorization {owner}".encode())
    session.execute("create extension rota")
    fill(session)
    go_on(session)
    assert column(
        session,
        "select distinct proowner::regrole::text from pg_proc"
        " where pronamespace = 'rota'::regnamespace",
    ) == [owner]


def test_an_extension_stays_its_owners_whoever_updates_it(
    session: Session, owner: str, running: tuple[str, Path], tmp_path: Path
) -> None:
    old_files(scripts.FIRST, running[1], tmp_path / "sql")
    session.execute(f"set session authorization {owner}".encode())
    session.execute(f"create extension rota version '{scripts.FIRST}'".encode())
    session.execute("reset session authorization")
    assert (
        schema.upgrade(session, patience=timedelta(seconds=PATIENCE)) == scripts.FIRST
    )
    assert column(
        session,
        "select distinct o.owner::regrole::text from ("
        "select proowner as owner from pg_proc"
        " where pronamespace = 'rota'::regnamespace union all"
        " select relowner from pg_class where relnamespace = 'rota'::regnamespace"
        ") as o",
    ) == [owner]
    assert value(session, "select current_user::text") == "postgres"


def test_an_extension_is_uninstalled_with_its_schema(session: Session) -> None:
    session.execute("create extension rota")
    fill(session)
    schema.uninstall(session)
    assert not rows(session, "select from pg_namespace where nspname = 'rota'")
    assert not rows(session, "select from pg_extension where extname = 'rota'")
    session.execute("create extension rota")


def test_make_install_puts_the_files_where_the_server_looks(tmp_path: Path) -> None:
    pg_config = bindir() / "pg_config"
    done = subprocess.run(
        [
            *("make", "--old-file=.venv/.demo", f"BIN={Path(sys.executable).parent}"),
            *(f"PG_CONFIG={pg_config}", f"DESTDIR={tmp_path}", "install"),
        ],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    share = subprocess.run(
        [pg_config, "--sharedir"], capture_output=True, text=True, check=True
    ).stdout.strip()
    folder = Path(f"{tmp_path}{share}") / "extension"
    assert {path.name for path in folder.iterdir()} == {
        "rota.control",
        f"rota--{schema.version()}.sql",
        *(f"rota--{old}--{schema.version()}.sql" for old in scripts.releases()[:-1]),
    }
