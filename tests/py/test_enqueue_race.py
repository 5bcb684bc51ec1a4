"""One live job to a key, whoever else is enqueueing, finishing or cancelling it."""

from __future__ import annotations

import random
from collections import Counter
from typing import TYPE_CHECKING

import psycopg
import pytest

from sessions import (
    Session,
    be_impatient,
    claim,
    column,
    meanwhile,
    register,
    rows,
    together,
    value,
    wait_blocked,
)
from waiting import PATIENCE

if TYPE_CHECKING:
    from threading import Barrier

    from conftest import Connect

ENQUEUE = """
select rota.enqueue(
    kind => 'work', payload => to_jsonb(%(who)s::text), idempotency_key => 'k',
    on_duplicate => %(rule)s
)
"""
ENQUEUE_KEYS = """
select e.id, e.is_new, g.key
from rota.enqueue_jobs(
    kinds => '{work}',
    payloads => array_fill('{}'::jsonb, array[cardinality(%(keys)s::text[])]),
    idempotency_keys => %(keys)s
) with ordinality as e (id, is_new, number)
join unnest(%(keys)s::text[]) with ordinality as g (key, number) using (number)
"""


def enqueue(session: Session, who: str, rule: str = "keep") -> int:
    job: int = value(session, ENQUEUE, who=who, rule=rule)
    return job


def raised(error: BaseException | None) -> str | None:
    assert isinstance(error, psycopg.Error)
    return error.sqlstate


def complete_all(session: Session) -> None:
    worker = register(session)
    for job, execution in claim(session, worker, 100):
        session.execute("select rota.complete_job(%s, %s)", (job, execution))


@pytest.mark.parametrize("rule", ["keep", "replace", "reject"])
@pytest.mark.parametrize("is_committed", [True, False])
def test_the_second_of_two_waits_for_the_first(
    connect: Connect, rule: str, is_committed: bool
) -> None:
    observer, second, first = connect(), connect(), connect(autocommit=False)
    theirs = enqueue(first, "first", rule)
    with meanwhile(enqueue, second, "second", rule) as waiting:
        wait_blocked(observer, second)
        if not is_committed:
            first.rollback()
            ours = waiting.result(PATIENCE)
            assert ours != theirs
            expected = (ours, "second")
        elif rule == "reject":
            first.commit()
            assert raised(waiting.exception(PATIENCE)) == "RT009"
            expected = (theirs, "first")
        else:
            first.commit()
            assert waiting.result(PATIENCE) == theirs
            expected = (theirs, "first" if rule == "keep" else "second")
    assert rows(observer, "select id, payload from rota.jobs") == [expected]


def test_a_long_transaction_holds_up_its_own_key_only(connect: Connect) -> None:
    first, second = connect(autocommit=False), connect()
    enqueue(first, "first")
    second.execute("set lock_timeout = '100ms'")
    with pytest.raises(psycopg.errors.LockNotAvailable):
        enqueue(second, "second")
    be_impatient(second)
    ((other, is_new, _),) = rows(second, ENQUEUE_KEYS, keys=["other"])
    assert is_new
    complete_all(second)
    assert rows(second, "select id, state from rota.jobs") == [(other, "completed")]


def test_a_key_held_by_a_long_transaction_lets_its_job_end(connect: Connect) -> None:
    enqueuer, session = connect(autocommit=False), connect()
    job = enqueue(session, "first")
    assert enqueue(enqueuer, "second") == job
    be_impatient(session)
    complete_all(session)
    assert enqueue(session, "third") != job


@pytest.mark.parametrize("is_committed", [True, False])
def test_of_two_that_take_over_a_used_key_one_wins(
    connect: Connect, is_committed: bool
) -> None:
    observer, second, first = connect(), connect(), connect(autocommit=False)
    used = enqueue(observer, "used")
    complete_all(observer)
    theirs = enqueue(first, "first")
    with meanwhile(enqueue, second, "second") as waiting:
        wait_blocked(observer, second)
        if is_committed:
            first.commit()
        else:
            first.rollback()
        ours = waiting.result(PATIENCE)
    assert (ours == theirs) is is_committed
    assert used not in (ours, theirs)
    live = "select id from rota.jobs where state = 'queued'"
    assert column(observer, live) == [ours]


def test_who_did_not_get_a_used_key_lets_the_job_of_the_other_end(
    connect: Connect,
) -> None:
    observer = connect()
    second, first = connect(autocommit=False), connect(autocommit=False)
    enqueue(observer, "used")
    complete_all(observer)
    theirs = enqueue(first, "first")
    with meanwhile(enqueue, second, "second") as waiting:
        wait_blocked(observer, second)
        first.commit()
        assert waiting.result(PATIENCE) == theirs
    be_impatient(observer)
    complete_all(observer)
    states = "select state from rota.jobs where id = %(job)s"
    assert column(observer, states, job=theirs) == ["completed"]


@pytest.mark.parametrize("end", ["cancelled", "claimed", "completed"])
def test_a_replacement_that_comes_too_late(connect: Connect, end: str) -> None:
    observer, second, first = connect(), connect(), connect(autocommit=False)
    job = enqueue(observer, "first")
    worker = register(observer)
    if end == "cancelled":
        first.execute("select rota.cancel_job(%s)", [job])
    else:
        tokens = claim(first, worker)
        if end == "completed":
            first.execute("select rota.complete_job(%s, %s)", tokens[0])
    with meanwhile(enqueue, second, "second", "replace") as waiting:
        wait_blocked(observer, second)
        first.commit()
        if end == "claimed":
            assert raised(waiting.exception(PATIENCE)) == "RT005"
            assert column(observer, "select payload from rota.jobs") == ["first"]
        else:
            ours = waiting.result(PATIENCE)
            assert ours != job
            assert sorted(
                rows(observer, "select id, payload, state from rota.jobs")
            ) == [
                (job, "first", end),
                (ours, "second", "queued"),
            ]


@pytest.mark.parametrize("is_long", [False, True])
def test_fifty_sessions_share_ten_keys(
    dsn: str, connect: Connect, is_long: bool
) -> None:
    keys = [f"key {number}" for number in range(10)]

    def loop(
        session: Session, number: int, _barrier: Barrier
    ) -> list[tuple[int, bool, str]]:
        dice = random.Random(number)
        answers = []
        for turn in range(20):
            several = dice.sample(keys, 3 if turn % 2 and not is_long else 1)
            with session.transaction():
                answers += rows(session, ENQUEUE_KEYS, keys=several)
                if is_long:
                    rows(session, "select count(*) from rota.jobs")
        return answers

    answers = [a for each in together(dsn, 50, loop) for a in each]
    observer = connect()
    stored = dict(rows(observer, "select idempotency_key, id from rota.jobs"))
    assert sorted(stored) == keys
    assert Counter(key for _, is_new, key in answers if is_new) == Counter(keys)
    assert {(job, key) for job, _, key in answers} == {
        (job, key) for key, job in stored.items()
    }


def test_a_key_in_turnover_never_has_two_live_jobs(dsn: str, connect: Connect) -> None:
    def loop(session: Session, number: int, _barrier: Barrier) -> set[int]:
        worker = register(session)
        made = set()
        for turn in range(60):
            rule = "replace" if (turn + number) % 3 == 0 else "keep"
            try:
                made.add(enqueue(session, "somebody", rule))
            except psycopg.Error as error:
                if error.sqlstate != "RT005":  # it is running
                    raise
            live = value(
                session,
                "select count(*) from rota.jobs where state in ('queued', 'running')",
            )
            assert live <= 1
            for job, execution in claim(session, worker):
                session.execute("select rota.complete_job(%s, %s)", (job, execution))
        return made

    made = set().union(*together(dsn, 8, loop))
    assert len(made) > 1
    assert set(column(connect(), "select id from rota.jobs")) == made
