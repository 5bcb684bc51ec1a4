"""An upgraded database is a fresh one, with all that was in it, and nobody stops."""

from __future__ import annotations

import difflib
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from dumps import schema_dump
from every_state import content, fill, go_on, ordered, states
from releases import NoHistory, install_sql
from rota import schema, scripts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sessions import Session

RELEASES = scripts.releases()[:-1]


def old_sql(version: str) -> str:
    try:
        return install_sql(version)
    except NoHistory as error:
        pytest.skip(str(error))


def upgrade(session: psycopg.Connection[Any]) -> str:
    return schema.upgrade(session, patience=timedelta(seconds=30))


@pytest.fixture(params=RELEASES)
def old(request: pytest.FixtureRequest, empty_dsn: str) -> Iterator[Session]:
    """A session on a database with an earlier release in it."""
    with psycopg.connect(empty_dsn, autocommit=True) as session:
        session.execute(old_sql(request.param).encode())
        yield session


def with_new_columns(old: list[dict[str, Any]], new: list[dict[str, Any]]) -> Any:
    """Return the old rows with the columns that only the new ones have, as null."""
    names = {name for row in new for name in row}
    return ordered([dict.fromkeys(names) | row for row in old])


def test_an_upgraded_schema_equals_a_fresh_one(
    old: Session, empty_dsn: str, dsn: str
) -> None:
    fill(old)
    upgrade(old)
    fresh, upgraded = schema_dump(dsn), schema_dump(empty_dsn)
    difference = difflib.unified_diff(
        fresh.splitlines(), upgraded.splitlines(), "fresh", "upgraded", lineterm="", n=8
    )
    assert not (lines := list(difference)), "\n".join(
        ["does sql/migrations say all?", *lines[:200]]
    )


def test_an_upgrade_keeps_every_row_and_work_goes_on(old: Session) -> None:
    fill(old)
    assert states(old) == {
        *("scheduled", "queued", "running", "completed", "cancelled", "dead")
    }
    before = content(old)
    assert all(before.values()), "some table is empty"
    assert upgrade(old) in RELEASES
    after = content(old)
    for table, rows in before.items():
        assert with_new_columns(rows, after[table]) == after[table], table
    assert schema.installed_version(old) == schema.version()
    go_on(old)
