"""A dump that is restored has everything, and work goes on where it was."""

from __future__ import annotations

from typing import TYPE_CHECKING

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from dumps import dump, restore, run, schema_dump
from every_state import content, fill, go_on
from rota import schema, scripts
from rota.demo.server import server

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from conftest import Connect


@pytest.fixture(scope="module")
def other_server() -> Iterator[str]:
    """Another cluster: no roles yet, and transaction ids that begin anew."""
    with server() as dsn:
        yield dsn


@pytest.mark.parametrize("parallel", [False, True])
def test_a_dump_is_restored_on_another_server(
    dsn: str, connect: Connect, other_server: str, tmp_path: Path, parallel: bool
) -> None:
    session = connect()
    fill(session)
    before = content(session)
    database = f"restored_{parallel}".lower()
    target = make_conninfo(other_server, dbname=database)
    with psycopg.connect(other_server, autocommit=True) as admin:
        admin.execute(f"create database {database}".encode())
        admin.execute(scripts.roles_sql().encode())

    if parallel:
        archive = str(tmp_path / "archive")
        dump(dsn, "--format=directory", f"--file={archive}", "--schema=rota")
        run(
            *("pg_restore", "--exit-on-error", "--jobs=2"),
            *(f"--dbname={target}", archive),
        )
    else:
        restore(target, dump(dsn, "--schema=rota"))

    # The server prints nested conditions without some of their parentheses.
    plain = str.maketrans("", "", "()")
    assert schema_dump(target).translate(plain) == schema_dump(dsn).translate(plain)
    with psycopg.connect(target, autocommit=True) as restored:
        assert schema.installed_version(restored) == schema.version()
        assert content(restored) == before
        go_on(restored)
