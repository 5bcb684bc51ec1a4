"""No job is handed to two, however many ask at once and whatever the planner does."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import TYPE_CHECKING

import psycopg
import pytest
from psycopg import errors

from sessions import (
    Session,
    be_impatient,
    claim,
    column,
    enqueue_many,
    meanwhile,
    register,
    rows,
    together,
    value,
    wait_blocked,
    wait_expired,
)
from waiting import PATIENCE, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable
    from threading import Barrier

    from conftest import Connect

PLANNER = (
    *("enable_hashjoin", "enable_mergejoin", "enable_nestloop"),
    *("enable_hashagg", "enable_material", "enable_indexscan"),
)


@pytest.mark.parametrize("run", range(5))
def test_ten_claim_loops_take_a_thousand_jobs_once_each(
    dsn: str, connect: Connect, run: int
) -> None:
    observer = connect()
    jobs = enqueue_many(observer, 1000)

    def loop(session: Session, _number: int, barrier: Barrier) -> list[int]:
        worker = register(session)
        taken = claim(session, worker)
        barrier.wait()  # nobody goes on before everybody has one
        while more := claim(session, worker):
            taken += more
        return [job for job, execution in taken]

    taken = together(dsn, 10, loop)
    assert sorted(itertools.chain(*taken)) == sorted(jobs)
    assert rows(
        observer,
        """
        select count(*), count(distinct j.worker_id), min(j.attempt), max(j.execution)
        from rota.jobs as j
        where j.state = 'running'
        """,
    ) == [(1000, 10, 1, 1)]
    assert value(observer, "select count(*) from rota.jobs") == 1000, run


def test_the_same_race_without_a_queue_hands_out_duplicates(
    dsn: str, connect: Connect
) -> None:
    connect().execute(
        "create table naive as select g as id, 0 as owner"
        " from generate_series(1, 100) as g"
    )

    def loop(session: Session, number: int, barrier: Barrier) -> list[int]:
        taken = column(
            session, "select id from naive where owner = 0 order by id limit 1"
        )
        barrier.wait()
        session.execute("update naive set owner = %s where id = %s", (number, taken[0]))
        return taken

    taken = Counter(itertools.chain(*together(dsn, 10, loop)))
    assert max(taken.values()) > 1


def test_sixteen_sessions_claim_and_complete_in_mixed_batches(
    dsn: str, connect: Connect
) -> None:
    observer = connect()
    jobs = enqueue_many(observer, 20_000)

    def loop(session: Session, number: int, _barrier: Barrier) -> list[int]:
        worker = register(session)
        done: list[int] = []
        while tokens := claim(session, worker, (1, 7, 50)[number % 3]):
            ids, executions = map(list, zip(*tokens, strict=True))
            done += column(
                session,
                "select rota.complete_jobs(ids => %(ids)s, executions => %(ex)s)",
                ids=ids,
                ex=executions,
            )
        return done

    done = together(dsn, 16, loop)
    assert sorted(itertools.chain(*done)) == sorted(jobs)
    assert rows(
        observer,
        """
        select state, count(*), min(attempt), max(attempt), max(execution)
        from rota.jobs
        group by state
        """,
    ) == [("completed", 20_000, 1, 1, 1)]


@pytest.mark.parametrize("statistics", ["none", "fresh", "stale"])
@pytest.mark.parametrize("plan", ["force_custom_plan", "force_generic_plan"])
def test_a_claim_of_one_takes_one_under_any_plan(
    connect: Connect, statistics: str, plan: str
) -> None:
    session = connect()
    session.execute("alter table rota.job set (autovacuum_enabled = off)")
    if statistics == "stale":
        session.execute("analyze rota.job")
    enqueue_many(session, 1000)
    if statistics == "fresh":
        session.execute("analyze rota.job")
    worker = register(session)

    session.execute(f"set plan_cache_mode = {plan}")
    for choice in itertools.product(("on", "off"), repeat=len(PLANNER)):
        session.execute("discard plans")
        with session.transaction(force_rollback=True):
            for setting, state in zip(PLANNER, choice, strict=True):
                session.execute(f"set local {setting} = {state}")
            assert len(claim(session, worker)) == 1, choice
            assert (
                value(session, "select count(*) from rota.job where state = 'running'")
                == 1
            ), choice


@pytest.mark.parametrize("end", ["rollback", "death"])
def test_a_claim_that_does_not_commit_never_happened(
    connect: Connect, end: str
) -> None:
    observer, claimer = connect(), connect(autocommit=False)
    (job,) = enqueue_many(observer, 1)
    worker = register(observer)
    before = rows(observer, "select j from rota.job as j")
    assert claim(claimer, worker) == [(job, 1)]
    assert claim(observer, worker) == []

    if end == "rollback":
        claimer.rollback()
    else:
        pid = claimer.info.backend_pid
        observer.execute("select pg_terminate_backend(%s)", [pid])
        wait_until(
            lambda: (
                not rows(
                    observer,
                    "select from pg_stat_activity where pid = %(pid)s",
                    pid=pid,
                )
            )
        )
    assert rows(observer, "select j from rota.job as j") == before
    assert claim(observer, register(observer)) == [(job, 1)]
    assert column(observer, "select attempt from rota.jobs") == [1]


def test_a_claim_passes_by_what_others_are_claiming(connect: Connect) -> None:
    slow, quick = connect(autocommit=False), connect()
    jobs = enqueue_many(quick, 20)
    assert claim(slow, register(slow), 10) == [(job, 1) for job in jobs[:10]]
    be_impatient(quick)
    assert claim(quick, register(quick), 20) == [(job, 1) for job in jobs[10:]]


def test_the_reaper_leaves_a_worker_alone_that_is_claiming(connect: Connect) -> None:
    claimer, reaper = connect(autocommit=False), connect()
    (job,) = enqueue_many(reaper, 1)
    worker = register(reaper, "100 milliseconds")
    wait_expired(reaper, worker)
    assert claim(claimer, worker) == [(job, 1)]

    be_impatient(reaper)
    reap = "select worker_count, job_count from rota.reap_workers()"
    assert rows(reaper, reap) == [(0, 0)]
    claimer.commit()
    assert rows(reaper, reap) == [(1, 1)]
    assert column(reaper, "select state from rota.jobs") == ["queued"]


def beat(session: Session, worker: int) -> list[tuple[int, int]]:
    session.execute("select rota.heartbeat(%s)", [worker])
    return [(1, 1)]


@pytest.mark.parametrize("is_committed", [True, False])
@pytest.mark.parametrize("call", [claim, beat])
def test_a_worker_waits_for_the_verdict_on_it(
    connect: Connect,
    call: Callable[[Session, int], list[tuple[int, int]]],
    is_committed: bool,
) -> None:
    observer, claimer, reaper = connect(), connect(), connect(autocommit=False)
    (job,) = enqueue_many(observer, 1)
    worker = register(observer, "100 milliseconds")
    wait_expired(observer, worker)
    assert value(reaper, "select worker_count from rota.reap_workers()") == 1

    with meanwhile(call, claimer, worker) as waiting:
        wait_blocked(observer, claimer)
        if is_committed:
            reaper.commit()
            error = waiting.exception(PATIENCE)
            assert isinstance(error, psycopg.Error) and error.sqlstate == "RT007"
            assert column(observer, "select state from rota.jobs") == ["queued"]
        else:
            reaper.rollback()
            assert waiting.result(PATIENCE) == [(job, 1)]


def test_no_job_stays_behind_with_a_worker_that_leaves_while_claiming(
    connect: Connect,
) -> None:
    observer, claimer, leaver = connect(), connect(autocommit=False), connect()
    (job,) = enqueue_many(observer, 1)
    worker = register(observer)
    assert claim(claimer, worker) == [(job, 1)]

    with meanwhile(
        value, leaver, "select rota.deregister_worker(%(worker)s)", worker=worker
    ) as leaving:
        wait_blocked(observer, leaver)
        claimer.commit()
        assert leaving.result(PATIENCE) == 1
    assert rows(observer, "select state, attempt from rota.jobs") == [("queued", 0)]
    with pytest.raises(psycopg.Error) as caught:
        claim(claimer, worker)
    assert caught.value.sqlstate == "RT007"


def test_a_pause_holds_for_every_claim_after_its_commit(connect: Connect) -> None:
    operator, session = connect(autocommit=False), connect()
    jobs = enqueue_many(session, 2)
    worker = register(session)
    be_impatient(session)
    operator.execute("select rota.pause_queue(queue => 'default')")
    assert claim(session, worker) == [(jobs[0], 1)]
    operator.commit()
    assert claim(session, worker) == []
    operator.execute("select rota.resume_queue(queue => 'default')")
    assert claim(session, worker) == []
    operator.commit()
    assert claim(session, worker) == [(jobs[1], 1)]


def test_a_claim_needs_no_lock_that_an_analyze_or_index_build_holds(
    connect: Connect,
) -> None:
    operator, session = connect(autocommit=False), connect()
    enqueue_many(session, 1)
    worker = register(session)
    operator.execute("lock table rota.job in share update exclusive mode")
    be_impatient(session)
    assert len(claim(session, worker)) == 1
    operator.rollback()
    operator.execute("lock table rota.job in access exclusive mode")
    session.execute("set lock_timeout = '100ms'")
    with pytest.raises(errors.LockNotAvailable):
        claim(session, worker)
