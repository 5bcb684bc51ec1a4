"""Whoever locks several jobs locks them in the order of their ids, so that nobody can
deadlock, and nobody waits for a job that is none of his business."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sessions import (
    be_impatient,
    claim,
    column,
    enqueue_many,
    let_exchange_wait,
    meanwhile,
    register,
    rows,
    value,
    wait_blocked,
    wait_expired,
)
from waiting import PATIENCE, wait_until

if TYPE_CHECKING:
    from conftest import Connect

LOCK = "select from rota.job where id = any (%s) for update"
FREE = "select id from rota.job where id = any (%(ids)s) for update skip locked"

# Each names the higher id first.
RUNNING = {
    "complete": "select rota.complete_jobs(array[%(high)s, %(low)s], '{1,1}')",
    "fail": "select rota.fail_jobs(array[%(high)s, %(low)s], '{1,1}', '{x,x}')",
    "release": "select rota.release_jobs(array[%(high)s, %(low)s], '{1,1}')",
    "snooze": "select rota.snooze_jobs(array[%(high)s, %(low)s], '{1,1}', '{1s,1s}')",
    "cancel": "select rota.cancel_jobs(array[%(high)s, %(low)s])",
    "deregister": "select rota.deregister_worker(%(worker)s)",
    "complete high, fail low": """
        select rota.exchange(
            worker => %(worker)s,
            completed_ids => array[%(high)s], completed_executions => '{1}',
            returned => jsonb_build_array(jsonb_build_object(
                'id', %(low)s, 'execution', 1, 'outcome', 'failed'
            ))
        )
        """,
    "complete low, fail high": """
        select rota.exchange(
            worker => %(worker)s,
            completed_ids => array[%(low)s], completed_executions => '{1}',
            returned => jsonb_build_array(jsonb_build_object(
                'id', %(high)s, 'execution', 1, 'outcome', 'failed'
            ))
        )
        """,
}
WAITING = {
    "cancel": "select rota.cancel_jobs(array[%(high)s, %(low)s])",
    "replace": """
        select rota.enqueue_jobs(
            kinds => '{new}', payloads => '{1,1}', idempotency_keys => '{a,b}',
            on_duplicate => 'replace'
        )
        """,
}


def lock_in_order(connect: Connect, verb: str, values: dict[str, int]) -> None:
    """Hold the higher job and see that the verb has the lower one while it waits."""
    observer, holder, session = connect(), connect(autocommit=False), connect()
    let_exchange_wait(observer)
    holder.execute(LOCK, [[values["high"]]])
    both = [values["low"], values["high"]]
    with meanwhile(rows, session, verb, **values) as waiting:
        wait_blocked(observer, session)
        assert column(observer, FREE, ids=both) == []
        holder.rollback()
        assert waiting.result(PATIENCE)


@pytest.mark.parametrize("verb", RUNNING.values(), ids=RUNNING)
def test_running_jobs_are_locked_in_order(connect: Connect, verb: str) -> None:
    session = connect()
    low, high = enqueue_many(session, 2)
    worker = register(session)
    assert claim(session, worker, 2) == [(low, 1), (high, 1)]
    lock_in_order(connect, verb, {"low": low, "high": high, "worker": worker})


@pytest.mark.parametrize("verb", WAITING.values(), ids=WAITING)
def test_waiting_jobs_are_locked_in_order(connect: Connect, verb: str) -> None:
    low, high = column(
        connect(),
        """
        select e.id
        from unnest('{b,a}'::text[]) with ordinality as g (key, number),
            rota.enqueue(kind => 'work', idempotency_key => g.key) as e (id)
        order by g.number
        """,
    )
    assert low < high
    lock_in_order(connect, verb, {"low": low, "high": high})


def test_an_exchange_holds_its_worker_before_it_waits_for_jobs(
    connect: Connect,
) -> None:
    """As deregister_worker does: in another order the two could deadlock."""
    observer, holder, session = connect(), connect(autocommit=False), connect()
    let_exchange_wait(observer)
    (job,) = enqueue_many(observer, 1)
    worker = register(observer)
    assert claim(observer, worker) == [(job, 1)]
    holder.execute(LOCK, [[job]])
    exchange = """
        select rota.exchange(
            worker => %(worker)s, max_jobs => 1,
            completed_ids => array[%(job)s], completed_executions => '{1}'
        )
        """
    free = "select id from rota.worker where id = %(worker)s for update skip locked"
    with meanwhile(rows, session, exchange, worker=worker, job=job) as waiting:
        wait_blocked(observer, session)
        assert column(observer, free, worker=worker) == []
        holder.rollback()
        assert waiting.result(PATIENCE)


def test_batches_with_the_same_keys_queue_up(connect: Connect) -> None:
    observer, holder = connect(), connect(autocommit=False)
    one, other = connect(), connect()
    batch = """
        select e.id
        from rota.enqueue_jobs(
            kinds => '{work}', payloads => '{1,2,3}', idempotency_keys => %(keys)s
        ) as e
        """
    holder.execute("select rota.enqueue(kind => 'work', idempotency_key => 'b')")
    with meanwhile(column, one, batch, keys=["c", "b", "a"]) as first:
        wait_blocked(observer, one)
        with meanwhile(column, other, batch, keys=["a", "b", "c"]) as second:
            wait_blocked(observer, other)
            holder.commit()
            ids, again = first.result(PATIENCE), second.result(PATIENCE)
    assert ids == again[::-1]
    assert len(set(ids)) == 3


def test_nothing_waits_for_a_job_that_an_operator_holds(connect: Connect) -> None:
    operator, session = connect(autocommit=False), connect()
    be_impatient(session)
    held, mine, queued, *_ = enqueue_many(session, 6)
    lost = register(session, "100 milliseconds")
    worker = register(session)
    assert claim(session, lost) == [(held, 1)]
    assert claim(session, worker) == [(mine, 1)]
    operator.execute(LOCK, [[held, queued]])
    wait_expired(session, lost)

    assert rows(session, "select from rota.heartbeat(%(worker)s)", worker=worker) == []
    assert claim(session, worker) == [(queued + 1, 1)]
    session.execute("select rota.complete_job(%s, 1)", [mine])
    session.execute("select rota.fail_job(%s, 1, 'x', delay => '1 h')", [queued + 1])
    session.execute("select rota.enqueue(kind => 'work')")
    assert rows(
        session,
        "select promoted_count, lost_worker_count, returned_count from rota.maintain()",
    ) == [(0, 1, 0)]
    assert claim(session, worker) == [(queued + 2, 1)]

    operator.rollback()
    assert rows(
        session, "select lost_worker_count, returned_count from rota.maintain()"
    ) == [(0, 1)]
    assert claim(session, worker, 2) == [(held, 2), (queued, 1)]


def test_a_replay_and_the_end_of_jobs_with_its_keys_do_not_deadlock(
    connect: Connect,
) -> None:
    """A replay looks at keys in their order, and leaves alone those that serve other
    jobs by now: these are given up in the order of the jobs."""
    observer, holder = connect(), connect(autocommit=False)
    replayer, worker_session = connect(), connect()
    enqueue = "select rota.enqueue('work', idempotency_key => %(key)s)"
    worker = register(observer)
    for key in ("a", "b", "c"):
        column(observer, enqueue, key=key)
    dead = claim(observer, worker, 3)
    for job, execution in dead:
        observer.execute(
            "select rota.fail_job(%s, %s, 'x', retryable => false)", [job, execution]
        )
    for key in ("c", "a"):
        column(observer, enqueue, key=key)
    last, first = claim(observer, worker, 2)
    holder.execute("select rota.enqueue('work', idempotency_key => 'b')")

    replay = "select r.id from rota.replay_dead(ids => %(ids)s) as r"
    complete = "select rota.complete_jobs(%(ids)s, '{1,1}')"
    with meanwhile(column, replayer, replay, ids=[job for job, _ in dead]) as replayed:
        wait_blocked(observer, replayer)
        with meanwhile(
            rows, worker_session, complete, ids=[last[0], first[0]]
        ) as completed:
            wait_until(
                lambda: (
                    completed.done()
                    or value(
                        observer,
                        "select pg_blocking_pids(%(pid)s) <> '{}'",
                        pid=worker_session.info.backend_pid,
                    )
                )
            )
            holder.rollback()
            assert completed.result(PATIENCE)
            assert dead[1][0] in replayed.result(PATIENCE)


def test_batches_that_replace_jobs_made_meanwhile_do_not_deadlock(
    connect: Connect,
) -> None:
    """The one that is on its way finds a job that the other has locked already."""
    observer, holder = connect(), connect(autocommit=False)
    early, late = connect(), connect()
    batch = """
        select e.id, e.is_new
        from rota.enqueue_jobs(
            kinds => '{new}', payloads => array_fill('1'::jsonb, %(lengths)s),
            idempotency_keys => %(keys)s, on_duplicate => 'replace'
        ) as e
        """
    holder.execute("select rota.enqueue(kind => 'work', idempotency_key => 'b')")
    with meanwhile(rows, early, batch, keys=["a", "b", "c"], lengths=[3]) as first:
        wait_blocked(observer, early)
        column(observer, "select rota.enqueue('work', idempotency_key => 'c')")
        with meanwhile(rows, late, batch, keys=["a", "c"], lengths=[2]) as second:
            wait_blocked(observer, late)
            holder.rollback()
            made, again = first.result(PATIENCE), second.result(PATIENCE)
    assert [made[0][0], made[2][0]] == [job for job, _ in again]
    assert sorted(is_new for _, is_new in (*made, *again)) == [False] * 3 + [True] * 2
