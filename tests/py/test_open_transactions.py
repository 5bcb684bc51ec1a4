"""A transaction that stays open holds up only what it must."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sessions import be_impatient, claim, register, rows, value

if TYPE_CHECKING:
    from conftest import Connect
    from sessions import Session


def impatient(connect: Connect) -> Session:
    session = connect()
    be_impatient(session)
    return session


def test_an_operator_who_pauses_a_queue_does_not_hold_up_maintain(
    connect: Connect,
) -> None:
    session, operator = impatient(connect), connect(autocommit=False)
    session.execute("select rota.create_queue('brief', retention => '1 hour')")
    session.execute("select rota.enqueue('k', delay => '1 microsecond')")
    value(operator, "select rota.pause_queue('brief')")

    ((promoted,),) = rows(session, "select m.promoted_count from rota.maintain() as m")
    assert promoted == 1
    purged = "select purged_before > '-infinity' from rota.queue where name = 'brief'"
    assert not value(session, purged)

    operator.commit()
    value(session, "select rota.maintain()")
    assert value(session, purged)


def test_a_replay_that_does_not_get_its_key_holds_up_nobody(connect: Connect) -> None:
    session, operator = impatient(connect), connect(autocommit=False)
    enqueue = "select rota.enqueue('k', idempotency_key => 'key')"
    worker = register(session)
    dead = value(session, enqueue)
    claim(session, worker)
    session.execute("select rota.fail_job(%s, 1, 'e', retryable => false)", [dead])
    living = value(session, enqueue)
    claim(session, worker)

    replay = "select r.id from rota.replay_dead(array[%(id)s]::bigint[]) as r"
    assert rows(operator, replay, id=dead) == []
    session.execute("select rota.complete_job(%s, 1)", [living])
    operator.commit()
    assert rows(operator, replay, id=dead) == [(dead,)]


def test_a_retry_policy_that_is_being_changed_can_be_given_to_a_queue(
    connect: Connect,
) -> None:
    session, operator = impatient(connect), connect(autocommit=False)
    session.execute("select rota.create_retry_policy('late')")
    operator.execute("select rota.alter_retry_policy('late', base => '1 hour')")
    session.execute("select rota.alter_queue('default', retry_policy => 'late')")
    operator.commit()
    assert value(session, "select retry_policy from rota.queue_settings") == "late"


def test_two_reapers_do_not_wait_for_each_other(connect: Connect) -> None:
    session, other = impatient(connect), connect(autocommit=False)
    worker = register(session)
    session.execute("update rota.worker set lost_at = clock_timestamp()")
    reap = "select r.worker_count from rota.reap_workers() as r"
    assert rows(other, reap) == [(0,)]
    assert rows(session, reap) == [(0,)]
    other.commit()
    ended = "select ended_at is not null from rota.worker where id = %(id)s"
    assert value(session, ended, id=worker)
