"""Two sessions at the same work: one does it, the other gives way or is told."""

from __future__ import annotations

from typing import TYPE_CHECKING

import psycopg
import pytest

from sessions import column, meanwhile, rows, value, wait_blocked
from waiting import PATIENCE

if TYPE_CHECKING:
    from conftest import Connect

OLD = """
    insert into rota.archive (
        id, worker_id, run_at, created_at, claimed_at, finished_at, lane_id, attempt,
        max_attempts, execution, lost_count, state, kind, payload
    )
    select
        -1, 1, old.old, old.old, old.old, old.old, min(l.id), 1, 1, 1, 0,
        'completed', 'work', '{}'
    from rota.lane as l, (values (timestamptz '2020-01-01')) as old (old)
    group by old.old
    """
TALLY = """
    insert into rota.tally (queue_id, completed_count, cancelled_count)
    select q.id, 1, 0
    from rota.queue as q, generate_series(1, 2)
    where q.name = 'default'
    """
CREATE = """
    select rota.create_schedule(
        schedule => 's', expression => %(expression)s, kind => 'work'
    )
    """


def test_house_keeping_is_the_work_of_one_session(connect: Connect) -> None:
    busy, other = connect(autocommit=False), connect()
    other.execute("select rota.enqueue('work')")
    other.execute(OLD)
    busy.execute("select rota.maintain()")
    assert value(other, "select purged_count from rota.maintain()") == 0
    assert column(other, "select id from rota.archive") == [-1]
    busy.rollback()
    assert value(other, "select purged_count from rota.maintain()") == 1


@pytest.mark.parametrize(
    ("step", "made"),
    [("purge_archive", OLD), ("fold_tally", TALLY)],
    ids=["purge_archive", "fold_tally"],
)
def test_a_step_of_it_gives_way_to_itself(
    connect: Connect, step: str, made: str
) -> None:
    busy, other = connect(autocommit=False), connect()
    other.execute("select rota.enqueue('work')")
    other.execute(made.encode())
    assert value(busy, f"select rota.{step}()") == 1
    assert value(other, f"select rota.{step}()") == 0
    busy.rollback()
    assert value(other, f"select rota.{step}()") == 1


def partitions(connect: Connect) -> list[str]:
    return column(
        connect(),
        r"""
        select c.relname
        from pg_class as c
        where c.relname ~ '^(archive|attempt)_\d+$' and c.relkind = 'r'
        order by c.relname
        """,
    )


@pytest.mark.parametrize(
    "hold",
    [
        "lock table rota.archive in share update exclusive mode",
        "select rota.ensure_partitions()",
    ],
    ids=["an analyze", "another session's"],
)
def test_making_partitions_gives_way_and_comes_back(
    connect: Connect, hold: str
) -> None:
    busy, other = connect(autocommit=False), connect()
    whole = partitions(connect)
    last = max(name for name in whole if name.startswith("archive_"))
    other.execute(f"drop table rota.{last}".encode())
    busy.execute(hold.encode())
    assert value(other, "select rota.ensure_partitions()") == 0
    assert last not in partitions(connect)
    busy.rollback()
    other.execute("select rota.ensure_partitions()")
    assert partitions(connect) == whole


@pytest.mark.parametrize(
    ("expression", "outcome"), [("@daily", "unchanged"), ("@weekly", None)]
)
def test_of_two_that_create_a_schedule_one_does(
    connect: Connect, expression: str, outcome: str | None
) -> None:
    observer, first, second = connect(), connect(autocommit=False), connect()
    assert value(first, CREATE, expression="@daily") == "created"
    with meanwhile(rows, second, CREATE, expression=expression) as waiting:
        wait_blocked(observer, second)
        first.commit()
        if outcome:
            assert waiting.result(PATIENCE) == [(outcome,)]
        else:
            with pytest.raises(psycopg.errors.DuplicateObject):
                waiting.result(PATIENCE)
    assert column(observer, "select expression from rota.schedule") == ["@daily"]
