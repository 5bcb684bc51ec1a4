"""What becomes of a job is decided once, whoever else is deciding at that moment."""

from __future__ import annotations

import itertools
import random
import time
from threading import Event
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from sessions import (
    Session,
    be_impatient,
    claim,
    column,
    enqueue_many,
    let_exchange_wait,
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

REAP = "select worker_count, job_count from rota.reap_workers()"


def cancel(session: Session, job: int) -> str:
    state: str = value(session, "select (rota.cancel_job(%(job)s)).state", job=job)
    return state


def test_cancel_and_claim_never_both_win(dsn: str, connect: Connect) -> None:
    rounds = 500
    observer = connect()
    jobs = enqueue_many(observer, rounds, "default")
    observer.execute("update rota.job set state = 'scheduled', position = null")
    ready = (
        "update rota.job set state = 'queued', position = nextval('rota.position_seq')"
        " where id = %s"
    )

    def side(session: Session, number: int, barrier: Barrier) -> list[Any]:
        worker = register(session)
        seen: list[Any] = []
        for job in jobs:
            if number == 0:
                session.execute(ready, [job])
            barrier.wait()
            if number == 1:
                seen.append(cancel(session, job))
                barrier.wait()
                continue
            tokens = claim(session, worker)
            barrier.wait()
            beat = "select h.id, h.execution from rota.heartbeat(%(worker)s) as h"
            assert rows(session, beat, worker=worker) == tokens
            for token in tokens:
                session.execute("select rota.complete_job(%s, %s)", token)
            seen.append(bool(tokens))
        return seen

    for claimed, state in zip(*together(dsn, 2, side), strict=True):
        assert state == ("running" if claimed else "cancelled")
    assert value(observer, "select count(*) from rota.jobs") == rounds


def test_a_cancellation_waits_for_the_claim_and_becomes_a_request(
    connect: Connect,
) -> None:
    observer, operator, claimer = connect(), connect(), connect(autocommit=False)
    (job,) = enqueue_many(observer, 1)
    worker = register(observer)
    assert claim(claimer, worker) == [(job, 1)]
    with meanwhile(cancel, operator, job) as cancelling:
        wait_blocked(observer, operator)
        claimer.commit()
        assert cancelling.result(PATIENCE) == "running"
    beat = "select h.id, h.execution from rota.heartbeat(%(worker)s) as h"
    assert rows(observer, beat, worker=worker) == [(job, 1)]


def test_a_claim_passes_by_a_job_that_is_being_cancelled(connect: Connect) -> None:
    operator, session = connect(autocommit=False), connect()
    first, second = enqueue_many(session, 2)
    be_impatient(session)
    assert cancel(operator, first) == "cancelled"
    assert claim(session, register(session)) == [(second, 1)]


def test_eight_reapers_refund_a_lost_job_once(dsn: str, connect: Connect) -> None:
    session = connect()
    enqueue_many(session, 1)
    for attempt in (1, 2):
        ((job, execution),) = claim(session, register(session))
        fail = "select rota.fail_job(%s, %s, 'x', delay => '0')"
        session.execute(fail, (job, execution))
        assert column(session, "select attempt from rota.jobs") == [attempt]
    worker = register(session, "100 milliseconds")
    assert claim(session, worker) == [(job, 3)]
    wait_expired(session, worker)

    reaped = together(dsn, 8, lambda reaper, _number, _barrier: rows(reaper, REAP)[0])
    assert sorted(reaped)[-2:] in ([(0, 0), (1, 1)], [(0, 1), (1, 0)])
    assert [sum(counts) for counts in zip(*reaped, strict=True)] == [1, 1]
    now = "select state, attempt, execution, lost_count from rota.jobs"
    assert rows(session, now) == [("queued", 2, 3, 1)]
    assert column(
        session, "select outcome from rota.executions order by execution"
    ) == ["failed", "failed", "lost"]
    assert rows(session, REAP) == [(0, 0)]


def test_reapers_share_many_lost_jobs_without_doing_any_twice(
    dsn: str, connect: Connect
) -> None:
    observer = connect()
    jobs = enqueue_many(observer, 600)
    workers = [register(observer, "100 milliseconds") for _ in range(6)]
    for worker in workers:
        claim(observer, worker, 100)
    for worker in workers:
        wait_expired(observer, worker)

    def reap(session: Session, _number: int, _barrier: Barrier) -> int:
        count = 0
        while value(session, "select count(*) from rota.jobs where state = 'running'"):
            count += value(session, "select (rota.reap_workers(70)).job_count")
        return count

    assert sum(together(dsn, 4, reap)) == 600
    assert rows(
        observer,
        """
        select state, attempt, lost_count, count(*)
        from rota.jobs
        group by state, attempt, lost_count
        """,
    ) == [("queued", 0, 1, 600)]
    lost = "select job_id from rota.executions where outcome = 'lost' order by job_id"
    assert column(observer, lost) == jobs
    observer.execute("select rota.reap_workers()")
    left = "select count(*) from rota.worker_status where ended_at is null"
    assert value(observer, left) == 0


def test_promoters_share_the_due_jobs(dsn: str, connect: Connect) -> None:
    observer = connect()
    value(
        observer,
        """
        select count(*)
        from rota.enqueue_jobs(
            kinds => '{work}',
            payloads => array_fill('{}'::jsonb, '{1000}'),
            delays => array_fill('200 milliseconds'::interval, '{1000}')
        )
        """,
    )
    waiting = "select count(*) from rota.jobs where state = 'scheduled'"
    assert value(observer, waiting) == 1000
    due = "select bool_and(run_at <= clock_timestamp()) from rota.jobs"
    wait_until(lambda: value(observer, due))

    def promote(session: Session, _number: int, _barrier: Barrier) -> int:
        count = 0
        while value(session, waiting):
            count += value(session, "select rota.promote_jobs(max_jobs => 70)")
        return count

    assert sum(together(dsn, 4, promote)) == 1000
    assert rows(
        observer,
        "select state, count(*), count(distinct position) from rota.job group by state",
    ) == [("queued", 1000, 1000)]


def test_two_replays_at_once_revive_each_dead_job_once(
    dsn: str, connect: Connect
) -> None:
    observer = connect()
    jobs = enqueue_many(observer, 100)
    for job, execution in claim(observer, register(observer), 100):
        fail = "select rota.fail_job(%s, %s, 'x', retryable => false)"
        observer.execute(fail, (job, execution))

    verb = "select r.id from rota.replay_dead(queue => 'default', max_jobs => 7) as r"

    def replay(session: Session, _number: int, _barrier: Barrier) -> list[int]:
        done: list[int] = []
        while value(session, "select count(*) from rota.dead_letters"):
            done += column(session, verb)
        return done

    assert sorted(itertools.chain(*together(dsn, 4, replay))) == jobs
    assert rows(observer, "select state, count(*) from rota.jobs group by state") == [
        ("queued", 100)
    ]


LATE: dict[str, tuple[str, str]] = {
    "complete_job": ("RT001", "rota.complete_job(%(job)s, %(execution)s, '1')"),
    "fail_job": ("RT001", "rota.fail_job(%(job)s, %(execution)s, 'late')"),
    "release_job": ("RT001", "rota.release_job(%(job)s, %(execution)s)"),
    "snooze_job": ("RT001", "rota.snooze_job(%(job)s, %(execution)s, '1h')"),
    "complete_jobs": ("", "rota.complete_jobs(array[%(job)s], array[%(execution)s])"),
    "fail_jobs": ("", "rota.fail_jobs(array[%(job)s], array[%(execution)s], '{x}')"),
    "release_jobs": ("", "rota.release_jobs(array[%(job)s], array[%(execution)s])"),
    "snooze_jobs": (
        "",
        "rota.snooze_jobs(array[%(job)s], array[%(execution)s], '{1h}')",
    ),
    "heartbeat": ("RT007", "rota.heartbeat(%(worker)s)"),
    "claim_jobs": ("RT007", "rota.claim_jobs(%(worker)s)"),
    "deregister_worker": ("RT007", "rota.deregister_worker(%(worker)s)"),
    "exchange": (
        "RT007",
        """
        rota.exchange(
            %(worker)s, completed_ids => array[%(job)s],
            completed_executions => array[%(execution)s]
        )
        """,
    ),
}


@pytest.mark.parametrize("call", LATE)
@pytest.mark.parametrize("is_taken", [True, False])
def test_a_late_worker_changes_nothing(
    connect: Connect, call: str, is_taken: bool
) -> None:
    session = connect()
    (job,) = enqueue_many(session, 1)
    late = register(session, "100 milliseconds")
    assert claim(session, late) == [(job, 1)]
    wait_expired(session, late)
    assert rows(session, REAP) == [(1, 1)]
    if is_taken:
        assert claim(session, register(session)) == [(job, 2)]
    state = "select j::text, j.ctid::text from rota.job as j"
    past = "select e::text from rota.executions as e order by e.execution"
    before = rows(session, state) + rows(session, past)

    error, verb = LATE[call]
    values = {"job": job, "execution": 1, "worker": late}
    if error:
        with pytest.raises(psycopg.Error) as caught:
            rows(session, f"select {verb}", **values)
        assert caught.value.sqlstate == error
    else:
        assert rows(session, f"select {verb}", **values) == []
    assert rows(session, state) + rows(session, past) == before


def test_a_late_worker_that_registered_again_is_refused_by_its_tokens(
    connect: Connect,
) -> None:
    session = connect()
    first, second = enqueue_many(session, 2)
    late = register(session, "100 milliseconds")
    assert claim(session, late, 2) == [(first, 1), (second, 1)]
    wait_expired(session, late)
    assert rows(session, REAP) == [(1, 2)]
    again = register(session)
    assert claim(session, again, 2) == [(first, 2), (second, 2)]
    before = rows(session, "select j::text from rota.job as j order by id")
    assert rows(
        session,
        """
        select x.event, x.id, x.execution
        from rota.exchange(
            worker => %(worker)s,
            completed_ids => array[%(first)s], completed_executions => '{1}',
            returned => jsonb_build_array(jsonb_build_object(
                'id', %(second)s, 'execution', 1, 'outcome', 'failed', 'error', 'late'
            ))
        ) as x
        """,
        worker=again,
        first=first,
        second=second,
    ) == [("refused", first, 1), ("refused", second, 1), ("next", None, None)]
    assert rows(session, "select j::text from rota.job as j order by id") == before


def listen(listener: Session) -> None:
    """Sleep as an idle runner does: nobody is notified while nobody sleeps."""
    listener.execute("listen rota")
    listener.execute("listen marker")
    listener.execute("select rota.mark_idle(queues => '{default,second}')")


def heard(listener: Session, session: Session) -> list[str]:
    """Return what was notified until now; a marker of ours says how far that is."""
    session.execute("select pg_notify('marker', '')")
    queues: list[str] = []
    for notice in listener.notifies(timeout=PATIENCE):
        if notice.channel == "marker":
            return queues
        queues.append(notice.payload)
    raise AssertionError("the marker did not arrive")


def test_what_makes_jobs_claimable_notifies_once_for_a_queue_and_nothing_else_does(
    connect: Connect,
) -> None:
    listener, session, other = connect(), connect(), connect(autocommit=False)
    session.execute("select rota.create_queue(queue => 'second')")
    listen(listener)
    worker = register(session)

    other.execute("select rota.enqueue(kind => 'work')")
    other.rollback()
    assert heard(listener, session) == []
    enqueue_many(session, 100)
    assert heard(listener, session) == ["default"]
    session.execute("select rota.enqueue(kind => 'work', queue => 'second')")
    assert heard(listener, session) == ["second"]
    session.execute("select rota.enqueue(kind => 'work', delay => '1 hour')")
    assert heard(listener, session) == []
    keyed = "select rota.enqueue(kind => 'work', idempotency_key => 'k')"
    session.execute(keyed)
    assert heard(listener, session) == ["default"]
    session.execute(keyed)
    assert heard(listener, session) == []

    tokens = claim(session, worker, 5)
    session.execute("select rota.heartbeat(%s)", [worker])
    session.execute("select rota.complete_job(%s, %s)", tokens[0])
    session.execute("select rota.cancel_job(%s)", tokens[1][:1])
    session.execute("select rota.exchange(worker => %s, max_jobs => 1)", [worker])
    session.execute("select rota.maintain()")
    session.execute("select rota.fail_job(%s, %s, 'x', delay => '1 hour')", tokens[2])
    assert heard(listener, session) == []

    session.execute("select rota.release_job(%s, %s)", tokens[3])
    assert heard(listener, session) == ["default"]
    session.execute("select rota.fail_job(%s, %s, 'x', false)", tokens[4])
    assert heard(listener, session) == []
    session.execute("select rota.replay_dead(queue => 'default')")
    assert heard(listener, session) == ["default"]

    session.execute("select rota.pause_queue(queue => 'default')")
    enqueue_many(session, 1)
    assert heard(listener, session) == []
    session.execute("select rota.resume_queue(queue => 'default')")
    assert heard(listener, session) == ["default"]
    listener.execute("select rota.mark_busy(queues => '{default,second}')")
    enqueue_many(session, 1)
    assert heard(listener, session) == []


def test_only_runners_that_may_take_the_job_are_woken(connect: Connect) -> None:
    listener, session = connect(), connect()
    many = ["second", *(f"q{number}" for number in range(1, 9))]
    for queue in many:
        session.execute("select rota.create_queue(%s)", [queue])
    listener.execute("listen rota")
    listener.execute("listen marker")
    listener.execute("select rota.mark_idle('{second}')")
    session.execute("select rota.enqueue('work')")
    enqueue_many(session, 2)
    assert heard(listener, session) == []
    session.execute("select rota.enqueue('work', queue => 'second')")
    assert heard(listener, session) == ["second"]
    listener.execute("select rota.mark_busy('{second}')")

    listener.execute("select rota.mark_idle(%s)", [many])
    session.execute("select rota.enqueue('work', queue => 'q8')")
    assert heard(listener, session) == ["q8"]
    listener.execute("select rota.mark_busy(%s)", [many])
    session.execute("select rota.enqueue('work', queue => 'q8')")
    assert heard(listener, session) == []


def test_enqueuers_that_see_each_other_probe_wake_nobody(connect: Connect) -> None:
    listener, session, probing = connect(), connect(), connect()
    listener.execute("listen rota")
    listener.execute("listen marker")
    probing.execute("select pg_advisory_lock(rota._lock_class(), 0)")
    session.execute("select rota.enqueue('work')")
    enqueue_many(session, 2)
    assert heard(listener, session) == []


def test_an_enqueuer_is_in_flight_until_its_transaction_ends(connect: Connect) -> None:
    session, enqueuer = connect(), connect(autocommit=False)
    in_flight = "select cardinality(rota.enqueuers_in_flight())"
    assert value(session, in_flight) == 0
    enqueuer.execute("select rota.enqueue('work')")
    assert value(session, in_flight) == 1
    enqueuer.commit()
    assert value(session, in_flight) == 0


def test_a_wake_up_is_as_small_for_large_payloads_and_batches(
    connect: Connect,
) -> None:
    """A notification holds less than 8000 bytes, or the enqueuer's commit fails."""
    listener, session = connect(), connect()
    listener.execute("listen rota")
    listener.execute("listen marker")
    listener.execute("select rota.mark_idle('{default}')")
    session.execute(
        "select rota.enqueue(kind => 'work',"
        " payload => jsonb_build_object('x', repeat('a', 1000000)))"
    )
    assert heard(listener, session) == ["default"]
    enqueue_many(session, 10_000)
    assert heard(listener, session) == ["default"]
    assert value(session, "select count(*) from rota.jobs") == 10_001


def test_promotion_and_reaping_notify_every_queue_once(connect: Connect) -> None:
    listener, session = connect(), connect()
    session.execute("select rota.create_queue(queue => 'second')")
    listen(listener)
    for queue in ("default", "second", "default", "second"):
        enqueue = "select rota.enqueue(kind => 'work', queue => %s, delay => '100ms')"
        session.execute(enqueue, [queue])
    # Falls due sooner than a sleeper may look.
    assert heard(listener, session) == ["default", "second", "default", "second"]
    due = "select bool_and(run_at <= clock_timestamp()) from rota.jobs"
    wait_until(lambda: value(session, due))
    assert value(session, "select promoted_count from rota.maintain()") == 4
    assert sorted(heard(listener, session)) == ["default", "second"]

    worker = register(session, "100 milliseconds")
    session.execute("select rota.claim_jobs(%s, '{default,second}', 10)", [worker])
    wait_expired(session, worker)
    assert value(session, "select returned_count from rota.maintain()") == 4
    assert sorted(heard(listener, session)) == ["default", "second"]


class Storm:
    """Sessions that use every verb at once on one queue, until all jobs have ended."""

    batches = 400
    keys = tuple(f"key {number}" for number in range(40))

    def __init__(self) -> None:
        self.made: list[int] = []
        self.enqueued = [Event(), Event()]
        self.ended = Event()
        self.deadline = time.monotonic() + 3 * PATIENCE

    def tolerate(
        self, codes: str, call: Callable[..., Any], *arguments: Any
    ) -> str | None:
        """Make the call; a refusal with one of these codes is part of the game."""
        try:
            call(*arguments)
        except psycopg.Error as error:
            if error.sqlstate not in codes.split():
                raise
            return error.sqlstate
        return None

    def enqueue(self, session: Session, dice: random.Random) -> None:
        for _ in range(self.batches):
            count = dice.randint(1, 12)
            keys = dice.choices((*self.keys, None, None), k=count)
            given = {
                "payloads": [str(number) for number in range(count)],
                "delays": [f"{dice.choice((0, 0, 30))} milliseconds" for _ in keys],
                "keys": keys,
                "rule": dice.choice(("keep", "keep", "replace")),
            }

            self.tolerate("RT005", self.store, session, given)

    def store(self, session: Session, given: dict[str, Any]) -> None:
        self.made += column(
            session,
            """
                    select e.id
                    from rota.enqueue_jobs(
                        kinds => '{work}', payloads => %(payloads)s::jsonb[],
                        delays => %(delays)s::interval[], idempotency_keys => %(keys)s,
                        on_duplicate => %(rule)s
                    ) as e
                    where e.is_new
                    """,
            **given,
        )

    def work(self, session: Session, dice: random.Random) -> None:
        while not self.ended.is_set():
            worker = register(session, "1 second")
            # Now and then a worker just vanishes with what it holds.
            while not self.ended.is_set() and dice.random() > 0.05:
                if self.tolerate("RT007", self.turn, session, dice, worker):
                    break
            else:
                self.tolerate("RT007", claim, session, worker, 5)

    def turn(self, session: Session, dice: random.Random, worker: int) -> None:
        session.execute("select rota.heartbeat(%s)", [worker])
        tokens = claim(session, worker, dice.randint(1, 20))
        if not tokens:
            self.ended.wait(0.01)
        dice.shuffle(tokens)
        self.settle(session, dice, worker, tokens)

    def settle(
        self,
        session: Session,
        dice: random.Random,
        worker: int,
        tokens: list[tuple[int, int]],
    ) -> None:
        cut = dice.randint(0, len(tokens))
        first, rest = tokens[:cut], tokens[cut:]
        given = {
            "worker": worker,
            "ids": [job for job, _ in first],
            "executions": [execution for _, execution in first],
            "returned": Jsonb(
                [
                    {
                        "id": job,
                        "execution": execution,
                        "outcome": dice.choice(("failed", "released", "snoozed")),
                        "delay": dice.choice((0, 0.02)),
                        "retryable": dice.random() < 0.9,
                    }
                    for job, execution in rest
                ]
            ),
        }
        if dice.random() < 0.5:
            rows(
                session,
                """
                select rota.exchange(
                    worker => %(worker)s, completed_ids => %(ids)s,
                    completed_executions => %(executions)s::integer[],
                    returned => %(returned)s
                )
                """,
                **given,
            )
            return
        given["errors"] = ["boom"] * len(rest)
        given["other_ids"] = [job for job, _ in rest]
        given["other_executions"] = [execution for _, execution in rest]
        verb = dice.choice(
            (
                "rota.fail_jobs(%(other_ids)s, %(other_executions)s, %(errors)s)",
                "rota.release_jobs(%(other_ids)s, %(other_executions)s)",
                "rota.complete_jobs(%(other_ids)s, %(other_executions)s)",
            )
        )
        rows(session, "select rota.complete_jobs(%(ids)s, %(executions)s)", **given)
        rows(session, f"select {verb}", **given)

    def cancel(self, session: Session, dice: random.Random) -> None:
        while not self.ended.wait(0.02):
            known = self.made[-200:]
            some = dice.sample(known, min(len(known), 15))
            rows(session, "select rota.cancel_jobs(%(ids)s::bigint[])", ids=some)

    def replay(self, session: Session) -> None:
        while not all(done.is_set() for done in self.enqueued):
            assert not self.ended.wait(0.02)
            rows(session, "select rota.replay_dead(queue => 'default', max_jobs => 9)")
        while rows(session, "select from rota.job limit 1"):
            assert not self.ended.wait(0.05)
            assert time.monotonic() < self.deadline, rows(
                session, "select state, count(*) from rota.job group by state"
            )

    def maintain(self, session: Session) -> None:
        while not self.ended.is_set():
            session.execute("select rota.maintain(max_jobs => 50)")

    def play(self, session: Session, number: int) -> None:
        dice = random.Random(number)
        be_impatient(session)
        if number < 10:
            self.maintain(session)
        elif number < 16:
            self.work(session, dice)
        elif number < 18:
            self.enqueue(session, dice)
            self.enqueued[number - 16].set()
        elif number < 19:
            self.cancel(session, dice)
        else:
            self.replay(session)
            self.ended.set()

    def __call__(self, session: Session, number: int, _barrier: Barrier) -> None:
        try:
            self.play(session, number)
        except BaseException:
            self.ended.set()
            raise


def test_everything_at_once_loses_nothing_and_deadlocks_nowhere(
    dsn: str, connect: Connect
) -> None:
    storm = Storm()
    observer = connect()
    let_exchange_wait(observer)
    observer.execute(
        "select rota.alter_retry_policy('default', base => '10ms', cap => '50ms')"
    )
    together(dsn, 20, storm)
    ended = rows(observer, "select id, state from rota.jobs")
    assert sorted(job for job, _ in ended) == sorted(storm.made)
    assert {"cancelled", "completed"} <= {state for _, state in ended}
    assert value(
        observer,
        "select bool_and(attempt between 0 and max_attempts) from rota.jobs",
    )
    twice = """
        select job_id, execution
        from rota.executions
        group by job_id, execution
        having count(*) > 1
        """
    assert rows(observer, twice) == []
    assert {"lost", "failed", "released", "snoozed"} <= set(
        column(observer, "select distinct outcome from rota.executions")
    )
