"""The command line's install, upgrade, uninstall and sql: what it says and returns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from dumps import restore
from every_state import fill
from releases import NoHistory, install_sql
from rota import schema, scripts
from rota.__main__ import main
from rota.demo.server import server
from sessions import Session, column, rows, value

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from conftest import Connect


@pytest.fixture
def empty(empty_dsn: str) -> Iterator[Session]:
    with psycopg.connect(empty_dsn, autocommit=True) as session:
        yield session


@pytest.fixture
def answer(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Be a terminal that answers with what the test puts into the list."""
    answers: list[str] = []
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("builtins.input", lambda _: answers.pop())
    return answers


def rota(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Run the command; returns its exit code and what it said."""
    code = main(arguments)
    said = capsys.readouterr()
    return code, said.out, said.err


def test_install_installs_once(
    empty_dsn: str, capsys: pytest.CaptureFixture[str]
) -> None:
    version = schema.version()
    assert rota(capsys, "install", "--dsn", empty_dsn) == (
        *(0, f"installed rota {version}\n", ""),
    )
    assert rota(capsys, "install", "--dsn", empty_dsn) == (
        *(0, f"rota {version} is installed already\n", ""),
    )


def test_install_with_upgrade_does_whichever_is_needed(
    empty_dsn: str, empty: Session, capsys: pytest.CaptureFixture[str]
) -> None:
    def install() -> tuple[int, str, str]:
        return rota(capsys, "install", "--upgrade", "--dsn", empty_dsn)

    version = schema.version()
    assert install() == (0, f"installed rota {version}\n", "")
    assert install() == (0, f"rota {version} is installed already\n", "")
    schema.uninstall(empty)
    try:
        empty.execute(install_sql(scripts.FIRST).encode())
    except NoHistory as error:
        pytest.skip(str(error))
    assert install() == (0, f"upgraded rota {scripts.FIRST} to {version}\n", "")
    schema.uninstall(empty)
    empty.execute("create schema rota")
    code, out, said = install()
    assert (code, out) == (2, "")
    assert "that is not ours" in said


def test_install_points_to_upgrade(
    empty_dsn: str, empty: Session, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        empty.execute(install_sql(scripts.FIRST).encode())
    except NoHistory as error:
        pytest.skip(str(error))
    code, out, said = rota(capsys, "install", "--dsn", empty_dsn)
    assert (code, out) == (2, "")
    assert (
        said == f"rota: rota {scripts.FIRST} is installed already: run rota upgrade\n"
    )

    assert rota(capsys, "upgrade", "--dsn", empty_dsn) == (
        *(0, f"upgraded rota {scripts.FIRST} to {schema.version()}\n", ""),
    )
    assert rota(capsys, "upgrade", "--dsn", empty_dsn) == (
        *(0, f"rota {schema.version()} is installed already\n", ""),
    )


def test_install_leaves_a_foreign_schema_alone(
    empty_dsn: str, empty: Session, capsys: pytest.CaptureFixture[str]
) -> None:
    empty.execute("create schema rota")
    for command in ("install", "upgrade", "uninstall"):
        code, out, said = rota(capsys, command, "--dsn", empty_dsn)
        assert (code, out) == (2, ""), command
        assert len(said.splitlines()) == 1
    assert rows(empty, "select from pg_namespace where nspname = 'rota'")


def test_upgrade_says_where_there_is_nothing(
    empty_dsn: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for command in ("upgrade", "uninstall"):
        assert rota(capsys, command, "--dsn", empty_dsn) == (
            *(2, ""),
            "rota: rota is not installed in this database: run rota install\n",
        )


def test_uninstall_says_what_goes_and_asks(
    dsn: str, connect: Connect, capsys: pytest.CaptureFixture[str], answer: list[str]
) -> None:
    session = connect()
    fill(session)
    session.execute("create view public.mine as select id from rota.jobs")
    session.execute("create table public.kept (ref rota.job_ref)")
    answer.append("no")
    code, out, said = rota(capsys, "uninstall", "--dsn", dsn)
    assert (code, said) == (1, "rota: nothing was dropped\n")
    assert "3 scheduled, 8 queued, 2 running, 3 dead" in out
    assert "schedules: 2" in out
    assert "workers alive: 1" in out
    others = [line for line in out.splitlines() if "not rota's" in line]
    assert others == [
        "  not rota's, but depends on it: column ref of table kept",
        "  not rota's, but depends on it: view mine",
    ]
    assert schema.installed_version(session)

    answer.append(str(conninfo_to_dict(dsn)["dbname"]))
    code, out, said = rota(capsys, "uninstall", "--dsn", dsn)
    assert (code, said) == (0, "")
    assert not rows(session, "select from pg_namespace where nspname = 'rota'")
    assert value(session, "select to_regrole('rota_worker') is not null")
    schema.install(session)


def test_uninstall_does_not_guess_what_nobody_answers(
    dsn: str, connect: Connect, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, said = rota(capsys, "uninstall", "--dsn", dsn)
    assert (code, said) == (2, "rota: nobody is there to ask: say --yes\n")
    assert schema.installed_version(connect())


def test_uninstall_says_when_the_tables_are_in_use(
    dsn: str, connect: Connect, capsys: pytest.CaptureFixture[str]
) -> None:
    holder = connect()
    holder.execute("begin")
    holder.execute("select rota.enqueue('work')")
    code, _, said = rota(capsys, "uninstall", "--yes", "--dsn", dsn)
    assert (code, said) == (
        2,
        "rota: rota's tables are in use, nothing was dropped: stop the workers first\n",
    )
    holder.execute("commit")
    assert rota(capsys, "uninstall", "--yes", "--dsn", dsn)[0] == 0


@pytest.fixture(scope="module")
def without_roles() -> Iterator[str]:
    """A server on which nobody has made rota's roles."""
    with server() as dsn:
        yield dsn


@pytest.fixture
def owner(without_roles: str) -> Iterator[str]:
    """An owner of a database who may not create roles, as a connection string."""
    with psycopg.connect(without_roles, autocommit=True) as admin:
        admin.execute("create role owner login")
        admin.execute("create database owned owner owner")
        yield make_conninfo(without_roles, dbname="owned", user="owner")
        admin.execute("drop database owned with (force)")
        roles = column(admin, "select rolname from pg_roles where rolname like 'rota%'")
        for role in ("owner", *roles):
            admin.execute(f"drop role {role}".encode())


def test_who_may_not_create_roles_is_told_both_ways_on(
    owner: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, said = rota(capsys, "install", "--dsn", owner)
    assert (code, out) == (2, "")
    assert "owner may not create the roles of rota" in said
    assert "rota sql --roles" in said
    assert "rota install --no-roles" in said
    with psycopg.connect(owner, autocommit=True) as session:
        assert not rows(session, "select from pg_namespace where nspname = 'rota'")


def test_who_may_create_roles_needs_no_administrator(
    owner: str, without_roles: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with psycopg.connect(without_roles, autocommit=True) as admin:
        admin.execute("alter role owner createrole")
    assert rota(capsys, "install", "--dsn", owner)[0] == 0
    with psycopg.connect(owner, autocommit=True) as session:
        session.execute("create role own_worker nologin")
        session.execute("grant rota_worker to own_worker")
        assert value(
            session,
            "select has_function_privilege("
            "'own_worker', 'rota.maintain(integer)', 'execute')",
        )
        session.execute("drop role own_worker")


def test_an_administrator_makes_the_roles_beforehand(
    owner: str, without_roles: str, capsys: pytest.CaptureFixture[str]
) -> None:
    _, script, _ = rota(capsys, "sql", "--roles")
    restore(without_roles, script)
    assert rota(capsys, "install", "--dsn", owner)[0] == 0
    with psycopg.connect(owner, autocommit=True) as session:
        assert value(
            session,
            "select has_function_privilege("
            "'rota_worker', 'rota.maintain(integer)', 'execute')",
        )


def test_the_roles_are_left_out(owner: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert rota(capsys, "install", "--no-roles", "--dsn", owner)[0] == 0
    with psycopg.connect(owner, autocommit=True) as session:
        assert not rows(session, "select from pg_roles where rolname like 'rota%'")
        fill(session)
        assert not rows(
            session,
            "select from pg_proc where pronamespace = 'rota'::regnamespace"
            " and has_function_privilege('public', oid, 'execute')",
        )


@pytest.mark.parametrize("options", [[], ["--no-roles"], ["--upgrade-from", "0.1.0"]])
def test_sql_prints_what_the_commands_run(
    capsys: pytest.CaptureFixture[str], options: list[str]
) -> None:
    code, out, said = rota(capsys, "sql", *options)
    assert (code, said) == (0, "")
    if options[:1] == ["--upgrade-from"]:
        assert out == scripts.upgrade_sql("0.1.0")
    else:
        assert out == scripts.install_sql(roles=not options)


def test_sql_knows_only_ways_that_are_there(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, out, said = rota(capsys, "sql", "--upgrade-from", schema.version())
    assert (code, out) == (2, "")
    assert "there is no upgrade of rota" in said


def test_sql_writes_all_scripts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert rota(capsys, "sql", "--into", str(tmp_path / "new")) == (0, "", "")
    assert (tmp_path / "new" / "rota.sql").read_text() == scripts.install_sql()
