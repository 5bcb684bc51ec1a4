"""pg_upgrade takes a cluster with jobs in it from an old PostgreSQL to the newest."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest

from every_state import content, fill, go_on
from extension_server import extension_server, programs_in
from fetch_postgres import FetchError, postgres_bindir
from rota import schema, scripts
from rota.demo import supervisor
from rota.demo.server import server

if TYPE_CHECKING:
    from collections.abc import Iterator

OLD, NEW = 15, 18


def programs(major: int) -> Path:
    try:
        return postgres_bindir(major)
    except FetchError as error:
        pytest.skip(str(error))


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder with a short name, for sockets."""
    path = Path(tempfile.mkdtemp(prefix="rota-up-"))
    yield path
    shutil.rmtree(path)


def run(program: str, *arguments: str, folder: Path) -> None:
    """Run one of the new version's programs as whoever may run servers."""
    identity = supervisor._identity(programs(NEW), folder)
    identity.give(folder)
    process = identity.start(program, *arguments, folder=folder)
    assert process.wait(600) == 0, (folder / "log").read_text()


@pytest.mark.slow
@pytest.mark.timeout(2000)
@pytest.mark.parametrize("form", ["plain", "extension"])
def test_jobs_outlive_pg_upgrade(folder: Path, form: str) -> None:
    old, new = folder / "old", folder / "new"
    with contextlib.ExitStack() as stack:
        stack.enter_context(programs_in(programs(OLD)))
        if form == "plain":
            dsn = stack.enter_context(server(directory=old))
        else:
            dsn, files = stack.enter_context(extension_server(old))
            scripts.write(files)
        with psycopg.connect(dsn, autocommit=True) as session:
            if form == "plain":
                schema.install(session)
            else:
                session.execute("create extension rota")
            fill(session)
            before = content(session)

    run(
        *("initdb", "--pgdata", str(new), "--username", "postgres", "--auth", "trust"),
        *("--encoding", "UTF8", "--no-locale", "--no-data-checksums", "--no-sync"),
        folder=folder,
    )
    run(
        *("pg_upgrade", "--username", "postgres", "--socketdir", str(folder)),
        *("--old-bindir", str(programs(OLD)), "--new-bindir", str(programs(NEW))),
        *("--old-datadir", str(old), "--new-datadir", str(new), "--no-sync"),
        folder=folder,
    )

    with (
        programs_in(programs(NEW)),
        server(directory=new) as dsn,
        psycopg.connect(dsn, autocommit=True) as session,
    ):
        assert session.info.server_version // 10000 == NEW
        assert schema.installed_version(session) == schema.version()
        assert content(session) == before
        go_on(session)
