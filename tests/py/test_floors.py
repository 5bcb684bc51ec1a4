"""A floor hides no job: every committed job is claimed, whoever was slow to commit.

The tests race hand-made interleavings against a claimer whose floor really moves (each
asserts that it did), then everything at once at random.
"""

from __future__ import annotations

import random
import threading
import time
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from rota import schema
from rota.demo.server import server
from sessions import claim, meanwhile, rows, wait_blocked
from waiting import PATIENCE, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Connect

    Session = psycopg.Connection[Any]

LANE = 1  # of queue default, priority 0: the first lane of an install


class Claimer:
    """A worker that claims and completes, one transaction after the other."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.worker = self._one("select rota.register_worker('floors', '1 hour')")

    def _one(self, query: str, *values: object) -> Any:
        row = self.session.execute(query, values).fetchone()
        assert row is not None
        return row[0]

    def claim(self, most: int = 10) -> list[int]:
        claimed = self.session.execute(
            "select id, execution from rota.claim_jobs(%s, max_jobs => %s)",
            (self.worker, most),
        ).fetchall()
        if claimed:
            self.session.execute(
                "select rota.complete_jobs(%s, %s)",
                ([row[0] for row in claimed], [row[1] for row in claimed]),
            )
        return [row[0] for row in claimed]

    def drain(self) -> list[int]:
        jobs: list[int] = []
        while claimed := self.claim():
            jobs += claimed
        return jobs

    def floor(self, lane: int = LANE) -> int:
        """Where this session starts in a lane; 0 while it knows no floor."""
        index = 2 * abs(lane) + (lane < 0)
        return int(self._one("select coalesce((rota._floors())[%s], 0)", index))

    def due_floor(self) -> float:
        """Seconds since 1970 before which nothing falls due; 0 while unknown."""
        return float(
            self._one("select greatest(extract(epoch from rota._time_floor('due')), 0)")
        )

    def run(self, producer: Session, jobs: int = 400) -> None:
        """Let some jobs through, so that marks ripen."""
        for _ in range(jobs // 10):
            enqueue(producer, 10)
            assert self.drain()

    def raise_floor(self, producer: Session, above: int = 200) -> None:
        """Let jobs through until the floor has moved: other databases of the server
        may hold it back for a while."""

        def is_raised() -> bool:
            self.run(producer, 50)
            return self.floor() > above

        assert wait_until(is_raised)


def enqueue(session: Session, jobs: int = 1) -> list[int]:
    return [
        row[0]
        for row in session.execute(
            "select id from rota.enqueue_jobs('{a}', array_fill('{}'::jsonb, %s))",
            ([jobs],),
        )
    ]


@pytest.fixture
def producer(connect: Connect) -> Session:
    return connect()


@pytest.fixture
def claimer(connect: Connect) -> Claimer:
    return Claimer(connect())


def test_the_floor_follows_the_claims(claimer: Claimer, producer: Session) -> None:
    claimer.raise_floor(producer)


def test_a_deep_backlog_is_claimed_in_order(
    claimer: Claimer, producer: Session
) -> None:
    """What is settled reaches far beyond what is claimed."""
    jobs = enqueue(producer, 1000)
    assert claimer.drain() == jobs
    claimer.raise_floor(producer)
    jobs = enqueue(producer, 1000)
    assert claimer.drain() == jobs


def touched(claimer: Claimer, call: str, *values: object) -> int:
    """Return how many buffers a call touches."""
    explain = "explain (analyze, buffers, timing off, format json) select "
    plan = claimer._one(explain + call, *values)[0]["Plan"]
    return int(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"])


def buffers(claimer: Claimer) -> int:
    """Claim and complete a job; return how many buffers the claim touched."""
    count = touched(claimer, "rota.claim_jobs(%s)", claimer.worker)
    done = claimer._one(
        "select count(*) from rota.job as j"
        " cross join rota.complete_jobs(array[j.id], array[j.execution])"
        " where j.state = 'running' and j.worker_id = %s",
        claimer.worker,
    )
    assert done == 1
    return count


@pytest.mark.parametrize(
    "verb",
    [
        "rota.complete_jobs(array[%s::bigint], array[%s])",
        "rota.fail_jobs(array[%s::bigint], array[%s], '{x}')",
        "rota.release_jobs(array[%s::bigint], array[%s])",
        "rota.snooze_jobs(array[%s::bigint], array[%s], '{1 hour}')",
    ],
)
def test_statistics_of_an_almost_empty_table_mislead_nobody_beside_a_snapshot(
    claimer: Claimer, producer: Session, connect: Connect, verb: str
) -> None:
    """To read the whole primary key looks cheap when few jobs live, but it holds all
    the dead ones."""
    producer.execute("alter table rota.job set (autovacuum_enabled = off)")
    watcher = connect(autocommit=False)
    watcher.execute("set transaction isolation level repeatable read")
    watcher.execute("select from rota.job")
    for _ in range(5):
        enqueue(producer, 1000)
        while claimer.claim(500):
            pass
    producer.execute("analyze rota.job")
    enqueue(producer, 5)
    counts = []
    for _ in range(4):
        token = claimer.session.execute(
            "select id, execution from rota.claim_jobs(%s)", (claimer.worker,)
        ).fetchone()
        assert token is not None
        counts.append(touched(claimer, verb, *token))
    assert min(counts) < 300  # some read catalogs too, which is not the point


@pytest.mark.parametrize("is_deep", [False, True], ids=["fresh", "deep"])
@pytest.mark.parametrize("batch", [1, 10, 100, 500])
def test_beside_an_open_snapshot_a_claim_passes_over_no_more_than_ever(
    claimer: Claimer, producer: Session, connect: Connect, batch: int, is_deep: bool
) -> None:
    """Counted, not timed: some thirty dead jobs passed over are a buffer. Deep: all
    jobs were enqueued, and settled, long before."""
    steps = 20 + 1000 // batch
    top_up, ready = (steps * batch + 2000 if is_deep else 2 * batch), 0
    watcher = connect(autocommit=False)
    watcher.execute("set transaction isolation level repeatable read")
    watcher.execute("select from rota.job")

    def step() -> int:
        nonlocal ready
        if ready <= batch:
            ready += len(enqueue(producer, top_up))
        ready -= len(claimer.claim(batch)) + 1
        return buffers(claimer)

    allowed = min(step() for _ in range(5)) + batch // 10 + 10
    for _ in range(steps):
        step()
    assert wait_until(lambda: step() <= allowed)


@pytest.fixture
def snapshot(connect: Connect) -> Session:
    """A session that keeps everything visible which is there now."""
    watcher = connect(autocommit=False)
    watcher.execute("set transaction isolation level repeatable read")
    watcher.execute("select from rota.job")
    return watcher


@pytest.mark.usefixtures("snapshot")
def test_beside_a_snapshot_ended_cancellations_are_free(
    claimer: Claimer, producer: Session
) -> None:
    def step() -> int:
        enqueue(producer)
        ((job, execution),) = claim(claimer.session, claimer.worker, 1)
        producer.execute("select rota.cancel_jobs(array[%s::bigint])", [job])
        count = touched(claimer, "rota.exchange(%s)", claimer.worker)
        producer.execute("select rota.complete_job(%s, %s)", (job, execution))
        return count

    allowed = min(step() for _ in range(5)) + 10
    for _ in range(500):
        step()
    assert wait_until(lambda: step() <= allowed)


@pytest.mark.usefixtures("snapshot")
def test_beside_a_snapshot_living_workers_cost_nothing(
    claimer: Claimer, producer: Session
) -> None:
    def count() -> int:
        return min(touched(claimer, "rota.purge_workers()") for _ in range(3))

    allowed = count() + 20
    enqueue(producer, 3000)
    while jobs := claimer.claim(500):
        producer.execute(
            "select rota.complete_jobs(%s::bigint[], array_fill(1, %s))",
            (jobs, [len(jobs)]),
        )
    assert count() <= allowed


def test_a_request_to_cancel_committed_late_is_heard(
    claimer: Claimer, producer: Session, connect: Connect
) -> None:
    """No floor is raised above it meanwhile, however often that is tried."""
    late = connect(autocommit=False)
    claimer.raise_floor(producer)
    enqueue(producer)
    ((job, _),) = claim(claimer.session, claimer.worker, 1)
    late.execute("select rota.cancel_jobs(array[%s::bigint])", [job])
    begun = time.monotonic()
    while time.monotonic() < begun + 2:  # a floor is raised once a second
        claimer.run(producer, 50)
        claimer.session.execute("select rota.exchange(%s)", [claimer.worker])
    late.commit()
    told = rows(
        claimer.session,
        "select e.id from rota.exchange(%(worker)s) as e where e.event = 'cancel'",
        worker=claimer.worker,
    )
    assert told == [(job,)]


@pytest.mark.parametrize("claims_before", [0, 1])
def test_an_id_beyond_the_marking_snapshot_is_waited_for(
    claimer: Claimer, producer: Session, connect: Connect, claims_before: int
) -> None:
    """An enqueuer with a higher id than the claimer that makes the mark: it is running,
    yet lies beyond the end of every snapshot of that moment. Claims make a mark and
    give it its horizon by turns: one more of them, and it is the other's turn."""
    claimer.run(producer)
    for _ in range(claims_before):
        enqueue(producer)
        assert claimer.claim()
    late_jobs: list[tuple[int, Session]] = []
    for _ in range(3):
        enqueue(producer, 200)
        claimer.session.execute("begin")
        claimer.session.execute("select pg_current_xact_id()")
        late = connect(autocommit=False)
        late_jobs.append((enqueue(late)[0], late))
        claimer.claim(300)
        claimer.session.execute("commit")
        enqueue(producer)
        claimer.drain()
    for job, late in late_jobs:
        late.commit()
        assert claimer.drain() == [job]


def test_a_late_commit_is_claimed(
    claimer: Claimer, producer: Session, connect: Connect
) -> None:
    late = connect(autocommit=False)
    claimer.raise_floor(producer)
    (job,) = enqueue(late)
    claimer.run(producer)
    late.commit()
    assert claimer.drain() == [job]


def test_many_late_commits_at_every_phase_are_claimed(
    claimer: Claimer, producer: Session, connect: Connect
) -> None:
    waiting: list[tuple[int, Session]] = []
    for _ in range(12):
        late = connect(autocommit=False)
        (job,) = enqueue(late)
        waiting.append((job, late))
        claimer.run(producer, 30)
    for _job, late in waiting[::2]:
        late.commit()
    claimer.run(producer, 100)
    for _job, late in waiting[1::2]:
        late.commit()

    claimer.raise_floor(producer)
    assert left(producer) == 0


def left(session: Session) -> int:
    row = session.execute("select count(*) from rota.job").fetchone()
    assert row is not None
    return int(row[0])


@pytest.mark.parametrize("undo", ["rollback", "rollback to savepoint s"])
def test_an_enqueue_undone_holds_nothing_up(
    claimer: Claimer, producer: Session, connect: Connect, undo: str
) -> None:
    late = connect(autocommit=False)
    late.execute("savepoint s")
    enqueue(late)
    claimer.run(producer)
    late.execute(undo)
    before = claimer.floor()
    jobs = enqueue(late)
    late.commit()
    assert claimer.drain() == jobs
    claimer.raise_floor(producer, before)


def test_a_claim_undone_gives_its_jobs_back(
    claimer: Claimer, producer: Session, connect: Connect
) -> None:
    other = connect(autocommit=False)
    undone = Claimer(other)
    other.commit()
    claimer.run(producer)
    jobs = enqueue(producer, 5)
    assert undone.claim(5) == jobs
    other.execute("select 1")
    claimer.run(producer)
    other.rollback()
    assert claimer.drain() == jobs


def test_a_session_that_claims_inside_one_long_transaction_misses_nothing(
    claimer: Claimer, producer: Session, connect: Connect
) -> None:
    """Its marks are never ripe by its own id, which is older than they are."""
    late = connect(autocommit=False)
    claimer.run(producer)
    claimer.session.execute("begin")
    claimer.run(producer, 50)
    (job,) = enqueue(late)
    claimer.run(producer, 300)
    late.commit()
    assert claimer.drain() == [job]
    claimer.session.execute("commit")
    assert left(producer) == 0


@pytest.mark.parametrize("isolation", ["repeatable read", "serializable"])
def test_strict_enqueuers_and_claimers_miss_nothing(
    claimer: Claimer, producer: Session, connect: Connect, isolation: str
) -> None:
    late = connect(autocommit=False)
    late.execute(f"set transaction isolation level {isolation}")
    (job,) = enqueue(late)
    claimer.run(producer)
    late.commit()

    claimer.session.execute(f"begin isolation level {isolation}")
    assert claimer.drain() == [job]
    claimer.session.execute("commit")
    jobs = enqueue(producer, 3)
    claimer.session.execute(f"begin isolation level {isolation}")
    claimer.session.execute("select from rota.job")
    more = enqueue(producer, 3)
    assert claimer.claim() == jobs
    claimer.session.execute("commit")
    assert claimer.drain() == more


@pytest.mark.parametrize("noted_first", [False, True])
def test_a_prepared_enqueue_is_claimed(
    claimer: Claimer, producer: Session, connect: Connect, noted_first: bool
) -> None:
    setting = producer.execute("show max_prepared_transactions").fetchone()
    if setting == ("0",):
        pytest.skip("the server takes no prepared transactions")
    late = connect(autocommit=False)
    (job,) = enqueue(late)
    if noted_first:
        let_time_pass(claimer, producer, seconds=0.5)
    # Its name is for the whole server.
    name = f"late in {producer.info.dbname}"
    late.execute(f"prepare transaction '{name}'".encode())
    claimer.run(producer)
    let_time_pass(claimer, producer, seconds=1.0)
    claimer.session.execute(f"commit prepared '{name}'".encode())
    assert claimer.drain() == [job]


def let_time_pass(claimer: Claimer, producer: Session, seconds: float) -> None:
    """Work until this much time has passed on the server's clock."""

    def clock() -> float:
        row = producer.execute(
            "select extract(epoch from clock_timestamp())"
        ).fetchone()
        assert row is not None
        return float(row[0])

    end = clock() + seconds
    while clock() < end:
        claimer.run(producer, 20)


def test_a_long_writer_that_enqueues_nothing_does_not_hold_the_floor(
    claimer: Claimer, producer: Session, connect: Connect
) -> None:
    writer = connect(autocommit=False)
    writer.execute("select pg_current_xact_id()")
    claimer.run(producer)
    claimer.raise_floor(producer, claimer.floor() + 300)


def test_a_long_writer_that_enqueued_is_waited_for(
    claimer: Claimer, producer: Session, connect: Connect
) -> None:
    writer = connect(autocommit=False)
    (early,) = enqueue(writer)
    let_time_pass(claimer, producer, seconds=1.0)
    (late,) = enqueue(writer)
    let_time_pass(claimer, producer, seconds=1.0)
    writer.commit()
    assert claimer.drain() == [early, late]


def test_enqueuers_in_turn_beside_a_long_writer_are_waited_for(
    claimer: Claimer, producer: Session, connect: Connect
) -> None:
    """One is always in the line, but none for long: those that were there when the
    mark was made are gone soon, while one that came later holds a position."""
    writer = connect(autocommit=False)
    writer.execute("select pg_current_xact_id()")
    late = connect(autocommit=False)
    enqueue(late)
    floors: set[int] = set()
    dice = random.Random(1)

    def have_moved() -> bool:
        nonlocal late
        following = connect(autocommit=False)
        enqueue(following)
        # One that commits shows its job, behind which no floor goes.
        if dice.random() < 0.5:
            late.commit()
        late.close()
        late = following
        let_time_pass(claimer, producer, seconds=0.05)
        floors.add(claimer.floor())
        return len(floors) > 8

    assert wait_until(have_moved)
    late.commit()
    claimer.drain()
    assert left(producer) == 0


def test_a_strict_claimer_beside_a_long_writer_leaves_its_floor(
    claimer: Claimer, producer: Session, connect: Connect
) -> None:
    """The enqueuer it waited for is gone, yet its snapshot does not show the job."""
    writer, late = connect(autocommit=False), connect(autocommit=False)
    writer.execute("select pg_current_xact_id()")
    claimer.run(producer)
    enqueue(late, 200)
    late.rollback()  # a floor does not move for the sake of a few positions
    (job,) = enqueue(late)
    let_time_pass(claimer, producer, seconds=1.0)
    claimer.session.execute("begin isolation level repeatable read")
    claimer.session.execute("select from rota.job")
    late.commit()
    claimer.claim()
    claimer.session.execute("commit")
    assert claimer.drain() == [job]


def test_a_position_is_not_taken_before_a_transaction_id(
    claimer: Claimer, producer: Session, connect: Connect
) -> None:
    """An enqueuer that is stopped between the two: on its way to its key."""
    stopped, holder = connect(), connect(autocommit=False)
    claimer.run(producer)
    holder.execute("lock table rota.idempotency_key in share mode")
    with meanwhile(
        rows, stopped, "select rota.enqueue('a', idempotency_key => 'k')"
    ) as waiting:
        wait_blocked(producer, stopped)
        for _ in range(40):
            enqueue(producer, 10)
            assert len(claim(claimer.session, claimer.worker, 10)) == 10
        holder.rollback()
        ((job,),) = waiting.result(PATIENCE)
    assert claimer.drain() == [job]


def test_an_enqueue_prepared_before_a_restart_is_waited_for(tmp_path: Path) -> None:
    serve = partial(
        server, directory=tmp_path / "data", settings={"max_prepared_transactions": "5"}
    )
    with serve() as dsn, psycopg.connect(dsn) as late:
        schema.install(late)
        (job,) = enqueue(late)
        late.execute("prepare transaction 'late'")
    with (
        serve() as dsn,
        psycopg.connect(dsn, autocommit=True) as producer,
        psycopg.connect(dsn, autocommit=True) as session,
    ):
        claimer = Claimer(session)
        let_time_pass(claimer, producer, seconds=1.0)
        producer.execute("commit prepared 'late'")
        assert claimer.drain() == [job]


def claim_into(claimer: Claimer, jobs: list[int]) -> list[int]:
    jobs += claimer.claim()
    return jobs


def fail_at_once(session: Session, worker: int) -> None:
    session.execute(
        "select rota.fail_jobs(array[id], array[execution], '{x}', delays => '{0}')"
        " from rota.claim_jobs(%s)",
        (worker,),
    )


def release(session: Session, worker: int) -> None:
    session.execute(
        "select rota.release_job(id, execution) from rota.claim_jobs(%s)", (worker,)
    )


def lose(session: Session, _worker: int) -> None:
    session.execute(
        "with gone as (select rota.register_worker('gone', '100 milliseconds') as id)"
        " select rota.claim_jobs(id) from gone"
    )
    wait_until(
        lambda: (
            session.execute("select (rota.reap_workers()).job_count > 0").fetchone()
            == (True,)
        )
    )


def snooze(session: Session, worker: int) -> None:
    session.execute(
        "select rota.snooze_job(id, execution, '10 milliseconds')"
        " from rota.claim_jobs(%s)",
        (worker,),
    )
    wait_until(
        lambda: session.execute("select rota.promote_jobs() > 0").fetchone() == (True,)
    )


def bury_and_replay(session: Session, worker: int) -> None:
    session.execute(
        "select rota.fail_job(id, execution, 'x', retryable => false)"
        " from rota.claim_jobs(%s)",
        (worker,),
    )
    session.execute("select rota.replay_dead(kind => 'a')")


@pytest.mark.parametrize("way", [fail_at_once, release, lose, snooze, bury_and_replay])
def test_a_job_that_comes_back_is_found_above_the_floor(
    claimer: Claimer,
    producer: Session,
    connect: Connect,
    way: Callable[[Session, int], None],
) -> None:
    other = connect()
    worker = Claimer(other).worker
    for _ in range(4):
        claimer.run(producer, 200)
        (job,) = enqueue(producer)
        way(other, worker)
        claimed: list[int] = []
        wait_until(partial(claim_into, claimer, claimed))
        assert claimed == [job]
    claimer.raise_floor(producer)


def test_a_session_reset_forgets_its_floors_and_misses_nothing(
    claimer: Claimer, producer: Session
) -> None:
    claimer.raise_floor(producer)
    claimer.session.execute("discard all")
    assert claimer.floor() == 0
    jobs = enqueue(producer, 5)
    assert claimer.drain() == jobs


def test_a_session_that_outlives_the_schema_misses_nothing_in_the_next(
    claimer: Claimer, producer: Session
) -> None:
    claimer.raise_floor(producer, 500)
    producer.execute("drop schema rota cascade")
    schema.install(producer)
    jobs = enqueue(producer, 5)
    assert Claimer(claimer.session).drain() == jobs


def test_a_rolled_back_claim_takes_back_what_it_learned(
    claimer: Claimer, producer: Session
) -> None:
    claimer.run(producer)
    before = claimer.session.execute("select rota._known_positions()::text").fetchone()
    enqueue(producer, 100)
    claimer.session.execute("begin")
    claimer.claim()
    claimer.session.execute("rollback")
    after = claimer.session.execute("select rota._known_positions()::text").fetchone()
    assert before == after


def test_maintenance_stores_floors_for_new_sessions(
    claimer: Claimer, producer: Session, connect: Connect
) -> None:
    claimer.raise_floor(producer, 1100)
    claimer.session.execute("select rota.maintain()")
    stored = producer.execute("select floor from rota.lane where id = 1").fetchone()
    assert stored is not None
    assert 1000 < stored[0] <= claimer.floor()
    jobs = enqueue(producer, 3)
    assert Claimer(connect()).drain() == jobs


def test_every_lane_has_its_own_floor(claimer: Claimer, producer: Session) -> None:
    """A queue nobody serves for a while keeps its jobs findable."""
    producer.execute("select rota.create_queue('slow')")
    job = producer.execute("select rota.enqueue('a', queue => 'slow')").fetchone()
    claimer.run(producer)
    claimed = claimer.session.execute(
        "select id from rota.claim_jobs(%s, '{default,slow}', 5)", (claimer.worker,)
    ).fetchall()
    assert claimed == [job]


def test_a_due_job_committed_late_is_promoted(
    claimer: Claimer, producer: Session, connect: Connect
) -> None:
    """Its instant passes while its transaction is open and others are promoted."""

    def due_floor() -> float:
        claimer.run(producer, 20)
        producer.execute("select rota.enqueue('a', delay => '1 millisecond')")
        claimer.session.execute("select rota.maintain()")
        return claimer.due_floor()

    wait_until(lambda: due_floor() > 0)
    late = connect(autocommit=False)
    row = late.execute(
        "select rota.enqueue('a', delay => '50 milliseconds')"
    ).fetchone()
    assert row is not None
    let_time_pass(claimer, producer, seconds=0.5)
    for _ in range(5):
        due_floor()
    claimer.drain()
    late.commit()
    wait_until(
        lambda: (
            claimer.session.execute("select rota.maintain()")
            and row[0] in claimer.drain()
        )
    )
    before = claimer.due_floor()
    wait_until(lambda: due_floor() > before)


def test_at_random_every_committed_job_is_claimed(dsn: str) -> None:
    """100,000 jobs through enqueuers that roll back, dawdle and nest, and claimers that
    undo, release, fail and snooze; at the end nothing is left and nothing missing."""
    target, stop = 100_000, threading.Event()
    committed: list[int] = []
    claimed: list[int] = []
    trouble: list[Exception] = []
    lock = threading.Lock()

    def guarded(work: Callable[[random.Random], None], seed: int) -> None:
        try:
            work(random.Random(seed))
        except Exception as error:  # noqa: BLE001 - told to the test below
            trouble.append(error)
            stop.set()

    def produce(dice: random.Random) -> None:
        with psycopg.connect(dsn) as session:
            while len(committed) < target and not stop.is_set():
                jobs: list[int] = []
                for _ in range(dice.choice([1, 1, 1, 3])):
                    session.execute("savepoint s")
                    fresh = enqueue(session, dice.choice([1, 5, 50, 400]))
                    if dice.random() < 0.1:
                        session.execute("rollback to savepoint s")
                    else:
                        jobs += fresh
                if dice.random() < 0.05:
                    stop.wait(dice.random() * 0.3)
                if dice.random() < 0.1:
                    session.rollback()
                    continue
                session.commit()
                with lock:
                    committed.extend(jobs)

    def consume(dice: random.Random) -> None:
        with psycopg.connect(dsn) as session:
            worker = Claimer(session).worker
            session.commit()
            while not stop.is_set():
                rows = session.execute(
                    "select id, execution from rota.claim_jobs(%s, max_jobs => %s)",
                    (worker, dice.choice([1, 10, 100, 500])),
                ).fetchall()
                ids, executions = [r[0] for r in rows], [r[1] for r in rows]
                fate = dice.random()
                if fate < 0.05:
                    session.rollback()
                elif fate < 0.1:
                    session.execute(
                        "select rota.release_jobs(%s, %s)", (ids, executions)
                    )
                elif fate < 0.15:
                    session.execute(
                        "select rota.snooze_jobs(%s, %s, %s)",
                        (ids, executions, [timedelta(milliseconds=5)] * len(ids)),
                    )
                else:
                    done = session.execute(
                        "select rota.complete_jobs(%s, %s)", (ids, executions)
                    ).fetchall()
                    session.commit()
                    with lock:
                        claimed.extend(row[0] for row in done)
                session.commit()
                if dice.random() < 0.05 or not rows:
                    session.execute("select rota.maintain()")
                    session.commit()
                if dice.random() < 0.002:
                    session.autocommit = True
                    session.execute("discard all")
                    session.autocommit = False

    threads = [
        threading.Thread(target=guarded, args=(work, seed), daemon=True)
        for seed, work in enumerate([produce] * 3 + [consume] * 3)
    ]
    for thread in threads:
        thread.start()
    try:
        wait_until(
            lambda: stop.is_set() or len(committed) >= target, deadline=3 * PATIENCE
        )
        wait_until(lambda: stop.is_set() or not any(t.is_alive() for t in threads[:3]))
        wait_until(lambda: stop.is_set() or len(claimed) >= len(committed))
    finally:
        stop.set()
        for thread in threads:
            thread.join(PATIENCE)
    assert not trouble
    assert sorted(claimed) == sorted(committed)
