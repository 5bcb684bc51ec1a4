"""How an upgrade is done, tried with a next release made up from this one."""

from __future__ import annotations

import contextlib
import os
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from psycopg import errors

from dumps import restore, run, schema_dump
from rota import schema, scripts
from sessions import Session, column, enqueue_many, rows, value, wait_blocked
from waiting import PATIENCE, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from conftest import Connect

NEXT = "999.0.0"


@pytest.fixture
def installed(connect: Connect) -> Session:
    """A session on a database that has this release."""
    return connect()


class Release:
    """A copy of `sql/` to change, which is the newest release from now on."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.before = os.environ.get("ROTA_SQL_DIR")
        shutil.copytree(scripts.source(), folder, dirs_exist_ok=True)
        control = folder / "rota.control"
        control.write_text(control.read_text().replace(schema.version(), NEXT))
        self.migrate("")

    def migrate(self, statements: str) -> None:
        (self.folder / "migrations" / f"{NEXT}.sql").write_text(statements)

    @contextlib.contextmanager
    def withdrawn(self) -> Iterator[None]:
        """Let the release before it be the newest for the length of the block."""
        if self.before is None:
            del os.environ["ROTA_SQL_DIR"]
        else:
            os.environ["ROTA_SQL_DIR"] = self.before
        scripts.version.cache_clear()
        yield
        os.environ["ROTA_SQL_DIR"] = str(self.folder)
        scripts.version.cache_clear()

    def replace(self, name: str, old: str, new: str) -> None:
        path = self.folder / name
        assert old in path.read_text()
        path.write_text(path.read_text().replace(old, new))


@pytest.fixture
def release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Release]:
    made = Release(tmp_path / "sql")
    monkeypatch.setenv("ROTA_SQL_DIR", str(made.folder))
    scripts.version.cache_clear()
    yield made
    scripts.version.cache_clear()


@pytest.fixture
def role(installed: Session) -> Iterator[str]:
    name = f"rota_test_role_{os.getpid()}"
    installed.execute(f"create role {name} login".encode())
    yield name
    installed.execute(f"drop owned by {name}".encode())
    installed.execute(f"drop role {name}".encode())


def upgrade(session: Session, seconds: float = PATIENCE) -> str:
    return schema.upgrade(session, patience=timedelta(seconds=seconds))


def functions(session: Session, name: str) -> list[str]:
    return column(
        session,
        "select oid::regprocedure::text from pg_proc"
        " where pronamespace = 'rota'::regnamespace and proname = %(name)s",
        name=name,
    )


def test_functions_that_are_no_more_are_dropped(
    installed: Session, release: Release
) -> None:
    (release.folder / "functions/00_core/_longest_sleep.sql").unlink()
    before = value(installed, "select count(*) from pg_proc")
    upgrade(installed)
    assert functions(installed, "_longest_sleep") == []
    assert value(installed, "select count(*) from pg_proc") == before - 1


def test_a_call_that_runs_while_its_functions_are_replaced_ends_well(
    installed: Session, release: Release, connect: Connect
) -> None:
    (release.folder / "functions/00_core/_longest_sleep.sql").unlink()
    installed.execute(
        "create function public.slow() returns void language plpgsql as $$ begin"
        " perform pg_advisory_lock(1);"
        # A table's first lock is when a session hears of what others dropped.
        " perform from rota.setting; perform rota._longest_sleep(); end $$"
    )
    holder, caller, observer = connect(), connect(), connect()
    holder.execute("select pg_advisory_lock(1)")
    with ThreadPoolExecutor(2) as pool:
        call = pool.submit(rows, caller, "select public.slow()")
        try:
            wait_blocked(observer, caller)
            upgraded = pool.submit(upgrade, installed)
            wait_until(lambda: schema.installed_version(observer) == NEXT)
        finally:
            holder.execute("select pg_advisory_unlock(1)")
        assert call.result(PATIENCE)
        upgraded.result(PATIENCE)
    assert functions(observer, "_longest_sleep") == []


def test_a_function_with_another_signature_takes_the_place_of_the_old(
    installed: Session, release: Release, role: str
) -> None:
    grant = "grant execute on function rota.pause_queue"
    installed.execute(f"{grant} to {role} with grant option".encode())
    release.replace(
        "functions/70_operate/pause_queue.sql",
        "pause_queue(queue text)",
        "pause_queue(queue text, reason text default null)",
    )
    upgrade(installed)
    assert functions(installed, "pause_queue") == ["rota.pause_queue(text,text)"]
    assert rows(
        installed,
        "select grantee::regrole::text, is_grantable from pg_proc,"
        " lateral aclexplode(proacl) where oid = 'rota.pause_queue'::regproc"
        " and grantee <> grantor order by 1",
    ) == [("rota_operator", False), (role, True)]
    assert value(installed, "select rota.pause_queue('default')")


def test_grants_to_roles_of_ones_own_outlive_a_view_that_is_made_anew(
    installed: Session, release: Release, role: str
) -> None:
    installed.execute(f"grant select on rota.queue_stats to {role}".encode())
    release.migrate("drop view rota.queue_stats;")
    upgrade(installed)
    assert value(
        installed, f"select has_table_privilege('{role}', 'rota.queue_stats', 'select')"
    )


def test_default_privileges_open_nothing(installed: Session, release: Release) -> None:
    installed.execute(
        "alter default privileges grant all on tables to public, rota_producer"
    )
    installed.execute("alter default privileges grant all on sequences to public")
    before = grants(installed)
    release.migrate(
        "create table rota.novelty (id integer not null generated always as identity);"
        "drop view rota.queue_stats;"
    )
    release.replace(
        "functions/70_operate/pause_queue.sql",
        "pause_queue(queue text)",
        "pause_queue(queue text, reason text default null)",
    )
    upgrade(installed)
    assert grants(installed) == before


def grants(session: Session) -> list[tuple[Any, ...]]:
    """Return who besides the owner may do what with which object of rota."""
    return rows(
        session,
        """
        select o.name, a.grantee::regrole::text, a.privilege_type
        from (
            select relname as name, relacl as acl, relowner as owner
            from pg_class where relnamespace = 'rota'::regnamespace
            union all
            select proname, coalesce(proacl, acldefault('f', proowner)), proowner
            from pg_proc where pronamespace = 'rota'::regnamespace
        ) as o, lateral aclexplode(o.acl) as a
        where a.grantee <> o.owner
        order by 1, 2, 3
        """,
    )


def test_a_constraint_is_checked_for_old_rows_once_all_else_is_done(
    installed: Session, release: Release
) -> None:
    installed.execute("select rota.create_queue('odd')")
    release.migrate(
        "alter table rota.queue add constraint queue_name_even"
        " check (name <> 'odd') not valid;"
    )
    with pytest.raises(errors.CheckViolation):
        upgrade(installed)
    assert schema.installed_version(installed) == NEXT
    with pytest.raises(errors.CheckViolation):
        installed.execute("update rota.queue set max_lost = 1")
    assert rows(installed, NOT_VALID)

    installed.execute("update rota.queue set name = 'even' where name = 'odd'")
    assert upgrade(installed) == NEXT
    assert not rows(installed, NOT_VALID)


NOT_VALID = "select from pg_constraint where not convalidated"


def test_a_failed_upgrade_changes_nothing(
    installed: Session, release: Release, dsn: str
) -> None:
    before = schema_dump(dsn)
    release.replace("grants.sql", "grant usage on schema rota", "grant no such thing")
    release.migrate("alter table rota.queue add column novelty text;")
    with pytest.raises(errors.SyntaxError):
        upgrade(installed)
    assert schema_dump(dsn) == before
    assert value(installed, "select rota.enqueue('work')")


def test_an_upgrade_gives_way_to_who_holds_a_table_and_tries_again(
    installed: Session, release: Release, connect: Connect
) -> None:
    release.migrate("alter table rota.worker add column novelty text;")
    holder, producer = connect(), connect()
    holder.execute("begin")
    holder.execute("select rota.register_worker('w')")

    with pytest.raises(schema.InUse, match="nothing was changed"):
        upgrade(installed, 0)
    assert schema.installed_version(installed) != NEXT

    tried = threading.Event()

    def wait_and_upgrade() -> str:
        tried.set()
        return upgrade(installed)

    with ThreadPoolExecutor(1) as pool:
        upgraded = pool.submit(wait_and_upgrade)
        try:
            assert tried.wait(PATIENCE)
            wait_blocked(producer, installed)
            # It waits for the workers' table, not with the jobs'.
            enqueue_many(producer, 10)
            # It gave up, and is there again.
            wait_until(lambda: not is_waiting(producer, installed))
            wait_blocked(producer, installed)
        finally:
            holder.execute("commit")
        assert upgraded.result(PATIENCE) != NEXT
    assert schema.installed_version(installed) == NEXT


def is_waiting(observer: Session, session: Session) -> bool:
    return bool(
        value(
            observer,
            "select pg_blocking_pids(%(pid)s) <> '{}'",
            pid=session.info.backend_pid,
        )
    )


@pytest.mark.usefixtures("release")
def test_of_two_upgrades_at_once_both_find_it_done(connect: Connect) -> None:
    holder, observer = connect(), connect()
    holder.execute("begin")
    holder.execute("select pg_advisory_xact_lock(hashtext('rota.install'))")
    others = [connect(), connect()]
    with ThreadPoolExecutor(2) as pool:
        both = [pool.submit(upgrade, session) for session in others]
        try:
            for session in others:
                wait_blocked(observer, session)
        finally:
            holder.execute("commit")
        found = {future.result(PATIENCE) for future in both}
    assert NEXT in found
    assert len(found) == 2
    assert schema.installed_version(observer) == NEXT


def test_what_is_new_belongs_to_the_owner_whoever_upgrades(
    empty_dsn: str, release: Release, role: str
) -> None:
    release.migrate("create table rota.novelty ();")
    with psycopg.connect(empty_dsn, autocommit=True) as session:
        database = session.info.dbname
        session.execute(f"grant create on database {database} to {role}".encode())
        session.execute(f"set session authorization {role}".encode())
        with release.withdrawn():
            schema.install(session)
        session.execute("reset session authorization")
        upgrade(session)
        assert column(
            session,
            "select distinct pg_get_userbyid(o.owner) from ("
            "select relowner as owner from pg_class"
            " where relnamespace = 'rota'::regnamespace union all"
            " select proowner from pg_proc where pronamespace = 'rota'::regnamespace"
            ") as o",
        ) == [role]
        assert value(session, "select current_user::text") == "postgres"
        session.execute(f"drop owned by {role} cascade".encode())


@pytest.mark.usefixtures("release")
def test_only_the_owner_upgrades(
    installed: Session, role: str, connect: Connect
) -> None:
    other = connect()
    installed.execute(f"grant rota_observer to {role}".encode())
    other.execute(f"set session authorization {role}".encode())
    with pytest.raises(errors.InsufficientPrivilege, match="only the owner"):
        upgrade(other)
    assert schema.installed_version(installed) != NEXT


def test_without_roles_it_stays_without(empty_dsn: str, release: Release) -> None:
    with psycopg.connect(empty_dsn, autocommit=True) as session:
        with release.withdrawn():
            schema.install(session, roles=False)
        before = grants(session)
        assert not before
        upgrade(session)
        assert grants(session) == before


@pytest.mark.usefixtures("release")
def test_the_script_upgrades_with_psql(dsn: str, installed: Session) -> None:
    version = schema.installed_version(installed)
    assert version
    restore(dsn, scripts.upgrade_sql(version))
    assert schema.installed_version(installed) == NEXT
    with pytest.raises(AssertionError, match=f"this upgrades rota {version} to {NEXT}"):
        restore(dsn, scripts.upgrade_sql(version))


@pytest.mark.usefixtures("release")
def test_the_script_leaves_nothing_half_done_where_errors_do_not_stop_psql(
    dsn: str, installed: Session
) -> None:
    before = schema_dump(dsn)
    version = schema.installed_version(installed)
    assert version
    script = scripts.upgrade_sql(version).replace(
        "\ncommit;\n", "\nnonsense;\ncommit;\n"
    )
    run("psql", "-X", "-q", f"--dbname={dsn}", script=script)
    assert schema_dump(dsn) == before


def test_there_is_nothing_to_upgrade_in_an_empty_database(empty_dsn: str) -> None:
    with (
        psycopg.connect(empty_dsn, autocommit=True) as session,
        pytest.raises(schema.NotInstalled, match="run rota install"),
    ):
        upgrade(session)


def test_there_is_no_way_back(installed: Session) -> None:
    installed.execute(
        "create or replace function rota.version() returns text"
        f" language sql immutable parallel safe as $$ select '{NEXT}' $$".encode()
    )
    with pytest.raises(schema.VersionMismatch, match="pip install --upgrade rota"):
        upgrade(installed)


@pytest.mark.usefixtures("release")
def test_a_version_that_never_was_cannot_be_upgraded(installed: Session) -> None:
    installed.execute(
        "create or replace function rota.version() returns text"
        " language sql immutable parallel safe as $$ select '0.0.1' $$"
    )
    with pytest.raises(schema.SchemaError, match=r"no upgrade of rota 0\.0\.1"):
        upgrade(installed)


def test_it_is_refused_inside_a_transaction(dsn: str) -> None:
    with psycopg.connect(dsn) as session:
        session.execute("select 1")
        with pytest.raises(schema.SchemaError, match="inside another transaction"):
            upgrade(session)


def test_every_release_has_its_migration() -> None:
    assert scripts.releases()[-1] == schema.version()
