"""What a handler says, and what is recorded of it; a runner inside the test."""

from __future__ import annotations

import asyncio
import io
import itertools
import json
import logging
import re
import sys
import threading
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import psycopg
import pytest
from psycopg import sql

import rota
from rota import logs, protocol, records
from rota.connections import Effects
from rota.session import Session
from rota.text import NotJson, json_text, storable, traceback_text
from waiting import PATIENCE, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from conftest import Connect

    Handler: TypeAlias = Callable[[rota.Job], object]


class Unshowable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


class Place:
    """An application, its database and its runner."""

    def __init__(self, dsn: str, connection: psycopg.Connection[Any]) -> None:
        self.dsn = dsn
        self.connection = connection
        self.app = rota.App()

    def run(self, function: Handler, **options: Any) -> Any:
        """Run one job with that handler; returns its state, result and error."""
        return self.run_all([function], **options)[0]

    def run_all(self, functions: Iterable[Handler], **options: Any) -> list[Any]:
        """Run a job with each of the handlers; returns state, result, error of each."""
        self.app = rota.App()
        jobs = []
        for number, function in enumerate(functions):
            self.app.handler(f"kind {number}")(function)
            jobs.append(rota.enqueue(self.connection, f"kind {number}", **options))
        self.once(concurrency=len(jobs))
        return self.connection.execute(
            "select j.state, j.result, e.error"
            " from unnest(%s::bigint[]) with ordinality as u (id, n)"
            " join rota.jobs as j using (id)"
            " join rota.executions as e"
            "     on e.job_id = j.id and e.execution = j.execution"
            " order by u.n",
            [jobs],
        ).fetchall()

    def once(self, concurrency: int = 10) -> int:
        worker = rota.Worker(self.app, self.dsn, concurrency=concurrency)
        return asyncio.run(worker.run_once())

    def value(self, query: str) -> Any:
        row = self.connection.execute(query.encode()).fetchone()
        assert row
        return row[0]


@pytest.fixture
def place(dsn: str, connect: Connect) -> Place:
    return Place(dsn, connect())


def _return(value: object) -> Handler:
    return lambda _job: value


def _raise(error: BaseException, *, is_async: bool = False) -> Handler:
    def function(_job: rota.Job) -> None:
        raise error

    async def coroutine(_job: rota.Job) -> None:
        raise error

    return coroutine if is_async else function


def test_what_is_returned_is_the_result(place: Place) -> None:
    values: list[Any] = [None, 0, "a", [1, None], {"a": {"b": 1.5}}, ""]
    found = place.run_all([_return(value) for value in values])
    assert found == [("completed", value, None) for value in values]


def test_a_result_that_is_not_json_is_dead_at_once(place: Place) -> None:
    values: list[Any] = [
        {1, 2},
        datetime.now(UTC),
        b"bytes",
        sys.stdout,
        ValueError("returned"),
        float("nan"),
        "with\0NUL",
        {"a": ["\ud800"]},
        {("a", "b"): 1},
        10**5000,
    ]
    found = place.run_all([_return(value) for value in values])
    assert [state for state, _, _ in found] == ["dead"] * len(values)
    for _, _, error in found:
        assert error.startswith("result cannot be stored as JSON: ")


def test_a_result_that_the_database_refuses_is_dead_at_once(place: Place) -> None:
    place.connection.execute(
        "alter table rota.archive add check (coalesce(result #>> '{}', '') <> 'no')"
    )
    no, yes = place.run_all([_return("no"), _return("yes")])
    assert no[0] == "dead"
    assert no[2].startswith("what the handler ended with cannot be recorded")
    assert yes == ("completed", "yes", None)


@pytest.mark.parametrize("is_async", [True, False])
def test_whatever_is_raised_is_a_failed_attempt(place: Place, is_async: bool) -> None:
    texts = {
        ValueError("a\0b"): "ValueError: a\N{REPLACEMENT CHARACTER}b",
        ValueError("a\ud800"): "ValueError: a?",
        ValueError(b"\xff\xfe"): "ValueError: b'\\xff\\xfe'",
        Unshowable(): "<exception str() failed>",
        SystemExit(3): "SystemExit: 3",
        KeyboardInterrupt(): "KeyboardInterrupt",
        asyncio.CancelledError(): "asyncio.exceptions.CancelledError",
        ValueError("x" * 10**6): "x" * 1000,
        RecursionError("deep"): "RecursionError: deep",
    }
    found = place.run_all([_raise(error, is_async=is_async) for error in texts])
    assert [state for state, _, _ in found] == ["scheduled"] * len(texts)
    for (_, _, recorded), text in zip(found, texts.values(), strict=True):
        assert recorded.endswith(text)
        assert len(recorded) <= 16_000


def test_a_traceback_begins_in_the_handler(place: Place) -> None:
    _, _, error = place.run(_raise(ValueError("here")))
    first, second, *_ = error.splitlines()
    assert first == "Traceback (most recent call last):"
    assert __file__ in second


def test_snooze_charges_nothing(place: Place) -> None:
    state, _, _ = place.run(_raise(rota.Snooze(timedelta(hours=1))))
    assert state == "scheduled"
    assert place.value("select attempt from rota.jobs") == 0
    assert place.value("select run_at > now() + '50 minutes' from rota.jobs")


def test_discard_gives_up(place: Place) -> None:
    state, _, error = place.run(_raise(rota.Discard("not\0 wanted")))
    assert (state, error) == ("dead", "not\N{REPLACEMENT CHARACTER} wanted")


def test_retry_chooses_the_delay(place: Place) -> None:
    state, _, error = place.run(_raise(rota.Retry(timedelta(hours=1), "busy")))
    assert (state, error) == ("scheduled", "busy")
    assert place.value("select attempt from rota.jobs") == 1
    assert place.value("select run_at > now() + '50 minutes' from rota.jobs")


def test_a_verdict_may_be_returned(place: Place) -> None:
    state, _, error = place.run(lambda _job: rota.Discard("returned"))
    assert (state, error) == ("dead", "returned")


def test_a_verdict_that_makes_no_sense_leaves_nothing_running(place: Place) -> None:
    def snooze(delay: Any) -> Handler:
        def handler(_job: rota.Job) -> None:
            raise rota.Snooze(delay)

        return handler

    delays = [timedelta(-1), timedelta.max, 5]
    *odd, fine = place.run_all([*map(snooze, delays), _return("fine")])
    assert fine == ("completed", "fine", None)
    for state, _, error in odd:
        assert state in {"scheduled", "dead"}
        assert error


def test_a_kind_without_a_handler_is_a_failed_attempt(place: Place) -> None:
    job = rota.enqueue(place.connection, "unheard-of")
    assert place.once() == 1
    assert place.value(f"select state from rota.jobs where id = {job}") == "scheduled"
    assert place.value("select error from rota.executions") == (
        "no handler for kind unheard-of"
    )


def test_any_json_is_a_payload(place: Place) -> None:
    place.app.handler("echo")(lambda job: [job.payload])
    payloads: list[Any] = [
        None,
        0,
        "text",
        [],
        [1, [2]],
        {},
        {"a": "ü\N{SNOWMAN}"},
        True,
    ]
    for payload in payloads:
        rota.enqueue(place.connection, "echo", payload)
    assert place.once() == len(payloads)
    found = place.connection.execute("select result from rota.jobs order by id")
    assert [result for (result,) in found] == [[payload] for payload in payloads]


def test_a_payload_that_python_cannot_read_fails_its_own_job(place: Place) -> None:
    place.connection.execute(
        "select rota.enqueue(kind => 'kind 0',"
        " payload => (repeat('[', 2500) || repeat(']', 2500))::jsonb)"
    )
    place.app.handler("kind 0")(_return("fine"))
    rota.enqueue(place.connection, "kind 0")
    assert place.once() == 2
    assert place.value("select result from rota.jobs where id = 2") == "fine"
    assert place.value("select reason from rota.dead_letters") == "not_retryable"
    error = place.value("select error from rota.dead_letters")
    assert error.startswith("payload cannot be read: ")


def test_effects_and_completion_commit_together(place: Place) -> None:
    place.connection.execute("create table effect (job bigint)")

    async def coroutine(job: rota.Job) -> str:
        async with job.transaction() as connection:
            await connection.execute("insert into effect values (%s)", [job.id])
            job.result = "in transaction"
        assert job.is_completed
        return "not recorded"

    def function(job: rota.Job) -> str:
        with job.transaction() as connection:
            connection.execute("insert into effect values (%s)", [job.id])
            job.result = "in transaction"
        return "not recorded"

    for handler in (coroutine, function):
        assert place.run(handler) == ("completed", "in transaction", None)
    assert place.value("select count(*) from effect") == 2


def test_what_was_written_with_a_job_is_there_when_it_runs(
    place: Place, connect: Connect
) -> None:
    """A transaction that is rolled back leaves neither."""
    place.connection.execute("create table deed (id integer primary key)")
    producer = connect(autocommit=False)
    missed: list[object] = []

    async def look(job: rota.Job) -> None:
        async with job.transaction() as connection:
            cursor = await connection.execute(
                "select 1 from deed where id = %s", [job.payload]
            )
            if not await cursor.fetchone():
                missed.append(job.payload)

    def produce() -> None:
        for number in range(400):
            rota.enqueue(producer, "look", number)
            producer.execute("insert into deed values (%s)", [number])
            if number % 2:
                producer.rollback()
            else:
                producer.commit()
        completed = "select count(*) from rota.jobs where state = 'completed'"
        wait_until(lambda: place.value(completed) == 200)

    async def serve() -> None:
        worker = rota.Worker(place.app, place.dsn)
        work = asyncio.create_task(worker.run())
        await asyncio.to_thread(produce)
        worker.drain()
        assert await work == 0

    place.app.handler("look")(look)
    asyncio.run(serve())
    assert missed == []
    # What was fetched ahead and could not be begun at once went back.
    run = "select count(*) from rota.executions where outcome <> 'released'"
    assert place.value(run) == 200


def test_effects_of_a_block_that_raises_are_undone(place: Place) -> None:
    place.connection.execute("create table effect (job bigint)")

    async def coroutine(job: rota.Job) -> None:
        async with job.transaction() as connection:
            await connection.execute("insert into effect values (%s)", [job.id])
            raise ValueError("on second thoughts")

    def function(job: rota.Job) -> None:
        with job.transaction() as connection:
            connection.execute("insert into effect values (%s)", [job.id])
            job.result = {1}  # type: ignore[assignment]  # no JSON

    assert place.run(coroutine)[0] == "scheduled"
    assert place.run(function)[0] == "dead"
    assert place.value("select count(*) from effect") == 0


def test_a_connection_that_turned_out_read_only_is_not_lent_again(
    place: Place,
) -> None:
    """It was opened while the server was, and would fail every job from then on."""
    read_only = "set session characteristics as transaction read only"
    create = "create table {} ()"

    async def use_both() -> None:
        effects = Effects(place.dsn, 1, None)
        with effects.connection() as connection:
            connection.execute(read_only)
        with (
            pytest.raises(psycopg.errors.ReadOnlySqlTransaction),
            effects.connection() as connection,
        ):
            connection.execute(create.format("one").encode())
        with effects.connection() as connection:
            connection.execute(create.format("one").encode())
        async with effects.connection_async() as other:
            await other.execute(read_only)
        with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
            async with effects.connection_async() as other:
                await other.execute(create.format("two").encode())
        async with effects.connection_async() as other:
            await other.execute(create.format("two").encode())
        await effects.close()

    asyncio.run(use_both())
    assert place.value("select count(*) from pg_class where relname in ('one', 'two')")


def test_a_lost_lease_undoes_the_effects(place: Place) -> None:
    place.connection.execute("create table effect (job bigint)")
    raised: list[BaseException] = []

    def handler(job: rota.Job) -> None:
        try:
            with job.transaction() as connection:
                connection.execute("insert into effect values (%s)", [job.id])
                place.connection.execute(
                    "select rota.release_job(id => %s, execution => %s)",
                    [job.id, job.execution],
                )
        except rota.LeaseLost as error:
            raised.append(error)
            raise

    assert place.run(handler)[0] == "queued"
    assert [type(error) for error in raised] == [rota.LeaseLost]
    assert raised[0].__cause__ is not None
    assert place.value("select count(*) from effect") == 0
    assert place.value("select attempt from rota.job") == 0


def test_raising_after_the_completion_changes_nothing(
    place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    def handler(job: rota.Job) -> None:
        with job.transaction():
            pass
        with pytest.raises(RuntimeError):
            job.transaction()
        raise ValueError("afterthought")

    assert place.run(handler) == ("completed", None, None)
    assert "raised ValueError after the job was completed" in caplog.text


def test_run_once_promotes_what_is_due_and_leaves_the_rest(place: Place) -> None:
    place.app.handler("echo")(lambda job: job.payload)
    delay = timedelta(milliseconds=1)
    for _ in range(12):
        rota.enqueue(place.connection, "echo", delay=delay)
    place.connection.execute("select pg_sleep(0.01)")
    worker = rota.Worker(place.app, place.dsn, concurrency=10)
    assert [asyncio.run(worker.run_once()) for _ in range(3)] == [10, 2, 0]
    assert place.value("select count(*) from rota.worker_status where state = 'ended'")


def test_the_listener_is_replaced_and_what_it_missed_is_run(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing else wakes this runner for ten minutes."""
    monkeypatch.setattr("rota.worker.MAINTENANCE_SECONDS", 600)
    long = timedelta(minutes=30)
    find = (
        "select pid from pg_stat_activity"
        " where query ~ 'enqueuers_in_flight' and pid <> pg_backend_pid()"
        " and datname = current_database()"
    )
    kill = f"select pg_terminate_backend(pid, 60000) from ({find}) as listener"
    place.app.handler("echo")(lambda job: job.payload)

    def miss_one() -> None:
        wait_until(lambda: place.connection.execute(find.encode()).fetchone())
        with place.connection.transaction():
            job = rota.enqueue(place.connection, "echo")
            place.connection.execute(kill.encode())
        state = f"select state from rota.jobs where id = {job}"
        wait_until(lambda: place.value(state) == "completed")

    async def serve() -> None:
        worker = rota.Worker(place.app, place.dsn, lease=long, poll=long)
        work = asyncio.create_task(worker.run())
        for _ in range(3):
            await asyncio.to_thread(miss_one)
        worker.drain()
        assert await work == 0

    asyncio.run(serve())


def test_a_sleeping_runner_is_woken_again_and_again(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rota.worker.MAINTENANCE_SECONDS", 600)
    long = timedelta(minutes=30)
    place.app.handler("echo")(lambda job: job.payload)
    unfinished = "select count(*) from rota.jobs where state <> 'completed'"

    def enqueue(count: int) -> None:
        jobs = [rota.NewJob(kind="echo")] * count
        rota.enqueue_jobs(place.connection, jobs)
        wait_until(lambda: place.value(unfinished) == 0)

    async def serve() -> None:
        worker = rota.Worker(place.app, place.dsn, concurrency=2, lease=long, poll=long)
        work = asyncio.create_task(worker.run())
        for count in (1, 2, 50, 1, 3, 1):  # more than it can hold, and less
            await asyncio.to_thread(enqueue, count)
        worker.drain()
        assert await work == 0

    asyncio.run(serve())


def test_what_was_enqueued_unseen_is_run_when_it_commits(
    place: Place, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An enqueuer that saw nobody sleep notifies nobody, however late it commits."""
    monkeypatch.setattr("rota.worker.MAINTENANCE_SECONDS", 600)
    long = timedelta(minutes=30)
    place.app.handler("echo")(lambda job: job.payload)
    early, watcher = connect(autocommit=False), connect()
    watcher.execute("listen rota")
    job = rota.enqueue(early, "echo")
    events: list[str] = []
    ask: Any = Session.exchange
    look: Any = protocol.enqueuers_in_flight

    async def noted_ask(self: Any, *arguments: Any) -> Any:
        events.append("asks")
        answer = await ask(self, *arguments)
        events.append("is answered")
        return answer

    def noted_look() -> Any:
        events.append("lies down")
        return look()

    monkeypatch.setattr(Session, "exchange", noted_ask)
    monkeypatch.setattr(protocol, "enqueuers_in_flight", noted_look)

    def is_asleep() -> bool:
        """Whether it has looked once more since it lay down."""
        _, lies_down, since = " ".join(events).partition("lies down")
        return bool(lies_down) and "asks is answered" in since

    def commit_late() -> None:
        wait_until(is_asleep)
        early.commit()
        state = f"select count(*) from rota.jobs where id = {job}"
        done = f"{state} and state = 'completed'"
        wait_until(lambda: place.value(done) == 1)

    async def serve() -> None:
        worker = rota.Worker(place.app, place.dsn, lease=long, poll=long)
        work = asyncio.create_task(worker.run())
        await asyncio.to_thread(commit_late)
        worker.drain()
        assert await work == 0

    asyncio.run(serve())
    assert not list(watcher.notifies(timeout=0))  # or this would prove nothing


def test_a_pause_lets_what_runs_finish_and_a_resumption_wakes(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rota.worker.MAINTENANCE_SECONDS", 600)
    long = timedelta(minutes=30)
    has_begun, may_end = threading.Event(), threading.Event()

    @place.app.handler("hold")
    def hold(_job: rota.Job) -> bool:
        has_begun.set()
        return may_end.wait(PATIENCE)

    place.app.handler("echo")(lambda job: job.payload)

    def states() -> list[str]:
        found = place.connection.execute("select state from rota.jobs order by id")
        return [state for (state,) in found]

    def pause_and_resume() -> None:
        rota.enqueue(place.connection, "hold")
        assert has_begun.wait(PATIENCE)
        place.connection.execute("select rota.pause_queue('default')")
        for _ in range(2):
            rota.enqueue(place.connection, "echo")
        may_end.set()
        wait_until(lambda: states()[0] == "completed")
        assert states()[1:] == ["queued"] * 2
        place.connection.execute("select rota.resume_queue('default')")
        wait_until(lambda: states() == ["completed"] * 3)

    async def serve() -> None:
        worker = rota.Worker(place.app, place.dsn, lease=long, poll=long)
        work = asyncio.create_task(worker.run())
        await asyncio.to_thread(pause_and_resume)
        worker.drain()
        assert await work == 0

    asyncio.run(serve())


@pytest.mark.parametrize(
    ("zone", "dates", "intervals"),
    [
        ("Asia/Kathmandu", "German", "iso_8601"),
        ("America/St_Johns", "SQL, DMY", "sql_standard"),
        ("Pacific/Apia", "Postgres, MDY", "postgres_verbose"),
    ],
)
def test_how_the_database_writes_times_does_not_matter(
    place: Place, zone: str, dates: str, intervals: str
) -> None:
    settings = {"timezone": zone, "datestyle": dates, "intervalstyle": intervals}
    for name, setting in settings.items():
        place.connection.execute(
            sql.SQL("alter database {} set {} = {}").format(
                sql.Identifier(place.connection.info.dbname),
                sql.Identifier(name),
                sql.Literal(setting),
            )
        )
    timeout = timedelta(days=2, minutes=90)
    place.app.handler("times")(
        lambda job: [job.run_at.timestamp(), job.timeout == timeout]
    )
    job = rota.enqueue(place.connection, "times", timeout=timeout)
    rota.enqueue(place.connection, "times", delay=timedelta(hours=1))
    assert place.once() == 1
    found = place.value(f"select result from rota.jobs where id = {job}")
    run_at = place.value(
        f"select extract(epoch from run_at) from rota.jobs where id = {job}"
    )
    assert found == [pytest.approx(float(run_at), abs=1e-3), True]


@pytest.mark.parametrize("error", [-3600, 3600])
def test_the_runners_own_clock_may_be_wrong(
    place: Place, monkeypatch: pytest.MonkeyPatch, error: float
) -> None:
    clock = time.time
    monkeypatch.setattr(time, "time", lambda: clock() + error)
    place.app.handler("echo")(lambda job: job.payload)
    job = rota.enqueue(place.connection, "echo", delay=timedelta(seconds=1))
    state = f"select state from rota.jobs where id = {job}"

    async def serve() -> None:
        worker = rota.Worker(place.app, place.dsn)
        work = asyncio.create_task(worker.run())
        await asyncio.to_thread(wait_until, lambda: place.value(state) == "completed")
        worker.drain()
        assert await work == 0

    asyncio.run(serve())
    assert place.value("select claimed_at >= run_at from rota.jobs")
    assert place.value("select claimed_at < created_at + '30 min' from rota.jobs")


def test_the_package_never_asks_what_time_it_is() -> None:
    """But of the database, or for how long something takes."""
    asks = re.compile(r"time\.time\b|\bnow\(|utcnow|today\(|localtime|gmtime")
    package = Path(rota.__file__).parent
    found = [p.name for p in package.glob("*.py") if asks.search(p.read_text())]
    assert found == []


def test_an_idle_runner_asks_less_than_once_a_second_and_writes_nothing(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    asked_at: list[float] = []
    call: Any = protocol.Call.ask

    async def counted(self: Any, connection: Any) -> Any:
        asked.append(self.sql)
        asked_at.append(time.monotonic())
        return await call(self, connection)

    monkeypatch.setattr(protocol.Call, "ask", counted)

    def since() -> list[float]:
        """When it asked from its first look on after it had lain down."""
        (down, *_) = [n for n, s in enumerate(asked) if "in_flight" in s] or [0]
        (look, *_) = [
            n for n, s in enumerate(asked) if "rota.exchange" in s and 0 < down < n
        ] or [len(asked)]
        return asked_at[look:]

    async def idle() -> None:
        worker = rota.Worker(place.app, place.dsn)
        work = asyncio.create_task(worker.run())
        while len(since()) < 4:  # noqa: ASYNC110 - it has no event to wait for
            await asyncio.sleep(0.05)
        worker.drain()
        await work

    # A session's statistics are complete when it has ended.
    written = (
        "select sum(n_tup_ins + n_tup_upd + n_tup_del) from pg_stat_user_tables"
        " where schemaname = 'rota' and relname <> 'worker'"
    )
    alone = (
        "select count(*) = 1 from pg_stat_activity where datname = current_database()"
    )
    before = place.value(written)
    asyncio.run(idle())
    wait_until(lambda: place.value(alone))
    assert place.value(written) == before
    first, _, _, last, *_ = since()
    assert last - first >= 3


def test_a_busy_runner_renews_its_lease_in_time(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a third of it left: three times that in a row, on a machine that lets it."""
    monkeypatch.setattr("rota.worker.MAINTENANCE_SECONDS", 600)
    seconds = 3.0
    begun: list[int] = []
    may_end = threading.Event()

    def burn(job: rota.Job) -> None:
        begun.append(job.id)
        while not may_end.is_set():
            sum(range(1000))

    place.app.handler("burn")(burn)
    for _ in range(2):
        rota.enqueue(place.connection, "burn")
    beats: list[float] = []

    def are_in_time() -> bool:
        beat = "select extract(epoch from heartbeat_at)::float from rota.worker"
        if (at := place.value(beat)) not in beats:
            beats.append(at)
        gaps = [after - before for before, after in itertools.pairwise(beats)]
        return len(gaps) >= 3 and max(gaps[-3:]) < seconds * 2 / 3

    def see_beats() -> None:
        wait_until(lambda: len(begun) == 2)
        wait_until(are_in_time)

    async def serve() -> None:
        lease = timedelta(seconds=seconds)
        worker = rota.Worker(place.app, place.dsn, concurrency=2, lease=lease)
        work = asyncio.create_task(worker.run())
        try:
            await asyncio.to_thread(see_beats)
        finally:
            may_end.set()
        worker.drain()
        assert await work == 0

    asyncio.run(serve())
    outcomes = place.connection.execute("select outcome from rota.executions")
    assert outcomes.fetchall() == [("completed",)] * 2


def test_a_delayed_job_does_not_wait_for_the_poll(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rota.worker.MAINTENANCE_SECONDS", 3600)
    long = timedelta(hours=1)
    place.app.handler("echo")(lambda job: job.payload)

    def see_it_done() -> None:
        job = rota.enqueue(place.connection, "echo", delay=timedelta(seconds=1.5))
        state = f"select state from rota.jobs where id = {job}"
        wait_until(lambda: place.value(state) == "completed")

    async def serve() -> None:
        worker = rota.Worker(place.app, place.dsn, lease=long, poll=long)
        work = asyncio.create_task(worker.run())
        await asyncio.to_thread(see_it_done)
        worker.drain()
        assert await work == 0

    asyncio.run(serve())
    assert place.value("select claimed_at >= run_at from rota.jobs")


def test_a_drain_hands_back_at_once_what_was_fetched_ahead(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though the grace time is long, and no job is ever too long in line."""
    monkeypatch.setattr("rota.worker.PATIENCE_SECONDS", 3600)
    monkeypatch.setattr("rota.pace.Pace.expected", 100)
    long = timedelta(minutes=30)
    go = asyncio.Event()
    begun: list[int] = []

    async def slow(job: rota.Job) -> None:
        begun.append(job.id)
        await go.wait()

    place.app.handler("slow")(slow)
    rota.enqueue_jobs(place.connection, [rota.NewJob(kind="slow")] * 200)
    running = "select count(*) from rota.jobs where state = 'running'"

    async def until(holds: Callable[[int], bool]) -> None:
        await asyncio.to_thread(wait_until, lambda: holds(place.value(running)))

    async def serve() -> None:
        worker = rota.Worker(place.app, place.dsn, concurrency=3, lease=long, poll=long)
        work = asyncio.create_task(worker.run())
        await until(lambda count: count > 3 and len(begun) == 3)
        worker.drain()
        await until(lambda count: count == 3)
        go.set()
        assert await work == 0

    asyncio.run(serve())
    assert place.value(running) == 0
    assert place.value("select count(*) from rota.job where attempt <> 0") == 0


def test_run_once_waits_for_a_slow_job_without_asking_all_the_time(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rota.worker.MAINTENANCE_SECONDS", 0.01)
    asked: list[str] = []
    call: Any = protocol.Call.ask

    async def counted(self: Any, connection: Any) -> Any:
        asked.append(self.sql)
        return await call(self, connection)

    monkeypatch.setattr(protocol.Call, "ask", counted)

    async def slow(job: rota.Job) -> None:
        await asyncio.sleep(0.5 if job.id == 1 else 0)

    place.app.handler("slow")(slow)
    rota.enqueue_jobs(place.connection, [rota.NewJob(kind="slow")] * 3)
    assert place.once(concurrency=3) == 3
    assert len(asked) < 15


def test_the_next_exchange_is_sent_before_the_last_answer_is_read(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask: Any = protocol.Call.ask
    read: Any = protocol.Answer.read
    unread, most = 0, 0

    async def asks(self: Any, connection: Any) -> Any:
        nonlocal unread, most
        is_exchange = "rota.exchange" in self.sql
        unread += is_exchange
        most = max(most, unread)
        return await ask(self, connection)

    async def reads(self: Any) -> Any:
        nonlocal unread
        answer = await read(self)
        unread -= isinstance(answer, records.Exchange)
        return answer

    monkeypatch.setattr(protocol.Call, "ask", asks)
    monkeypatch.setattr(protocol.Answer, "read", reads)
    count = 2000
    begun: list[int] = []

    async def fast(job: rota.Job) -> None:
        begun.append(job.id)

    place.app.handler("fast")(fast)
    rota.enqueue_jobs(place.connection, [rota.NewJob(kind="fast")] * count)

    async def serve() -> None:
        worker = rota.Worker(place.app, place.dsn)
        work = asyncio.create_task(worker.run())
        done = f"select count(*) = {count} from rota.jobs where state = 'completed'"
        await asyncio.to_thread(wait_until, lambda: place.value(done))
        worker.drain()
        assert await work == 0

    asyncio.run(serve())
    assert len(begun) == len(set(begun)) == count
    assert (unread, most) == (0, 2)


def test_a_result_goes_with_the_next_claim_if_there_is_one_soon(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rota.worker.COMPANY_SECONDS", 3600)
    monkeypatch.setattr("rota.worker.MAINTENANCE_SECONDS", 3600)
    exchanges: list[str] = []
    ask: Any = protocol.Call.ask

    async def counted(self: Any, connection: Any) -> Any:
        if "rota.exchange" in self.sql:
            exchanges.append(self.sql)
        return await ask(self, connection)

    monkeypatch.setattr(protocol.Call, "ask", counted)
    count = 20
    begun: list[int] = []

    async def handler(job: rota.Job) -> None:
        begun.append(job.id)

    place.app.handler("kind")(handler)

    async def serve() -> None:
        long = timedelta(hours=1)
        worker = rota.Worker(place.app, place.dsn, lease=long, poll=long)
        work = asyncio.create_task(worker.run())
        for number in range(count):
            rota.enqueue(place.connection, "kind")
            await asyncio.to_thread(wait_until, lambda n=number: len(begun) > n)
        worker.drain()  # which needs no company
        assert await work == 0

    asyncio.run(serve())
    completed = "select count(*) from rota.jobs where state = 'completed'"
    assert place.value(completed) == count
    assert count <= len(exchanges) < 1.5 * count


def test_handlers_deaf_to_their_cancellation_do_not_make_a_runner_ask_all_the_time(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    ask: Any = protocol.Call.ask

    async def counted(self: Any, connection: Any) -> Any:
        asked.append(self.sql)
        return await ask(self, connection)

    monkeypatch.setattr(protocol.Call, "ask", counted)
    begun: list[int] = []
    told, go = threading.Semaphore(0), threading.Event()
    count = 8

    def deaf(job: rota.Job) -> None:
        begun.append(job.id)
        job.cancelled.wait()
        told.release()
        go.wait()

    place.app.handler("deaf")(deaf)
    jobs = [rota.enqueue(place.connection, "deaf") for _ in range(count)]
    lease = timedelta(seconds=3)

    async def serve() -> None:
        worker = rota.Worker(place.app, place.dsn, concurrency=count + 1, lease=lease)
        work = asyncio.create_task(worker.run())
        await asyncio.to_thread(wait_until, lambda: len(begun) == count)
        place.connection.execute("select count(*) from rota.cancel_jobs(%s)", [jobs])
        for _ in range(count):
            assert await asyncio.to_thread(told.acquire, timeout=PATIENCE)
        asked_before = len(asked)
        await asyncio.sleep(lease.total_seconds())
        assert len(asked) - asked_before < 30
        worker.stop()
        await work

    try:
        asyncio.run(serve())
    finally:
        go.set()


def test_a_handler_is_registered_once_per_kind() -> None:
    app = rota.App()
    app.handler("kind")(lambda _job: None)
    with pytest.raises(ValueError, match="has a handler already"):
        app.handler("kind")(lambda _job: None)

    async def generator(_job: rota.Job) -> Any:
        yield

    for unfit in (generator, 5):
        with pytest.raises(TypeError):
            app.handler("other")(unfit)  # type: ignore[type-var]


def test_logs_name_the_job_and_never_the_payload(place: Place) -> None:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(logs.JsonLines())
    logger = logging.getLogger("rota")
    logger.addHandler(handler)
    logger.setLevel("DEBUG")
    try:
        place.run(_raise(ValueError("secret")), payload={"password": "secret"})
        place.run(lambda job: job.payload, payload={"password": "secret"})
    finally:
        logger.removeHandler(handler)
        logger.setLevel("NOTSET")
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert {line["job_id"] for line in lines if "job_id" in line} == {1, 2}
    assert "secret" not in stream.getvalue()


def test_texts_are_made_storable() -> None:
    assert storable("a\0b\ud800c") == "a\N{REPLACEMENT CHARACTER}b?c"
    long = storable("a" * 100 + "b" * 100, limit=80)
    assert len(long) == 80
    assert long.startswith("aaa")
    assert long.endswith("bbb")
    assert json_text("\\u0000") == '"\\\\u0000"'  # a backslash, not the character
    with pytest.raises(NotJson):
        json_text("\\\0")
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(NotJson):
        json_text(loop)
    assert "Unshowable" in traceback_text(Unshowable())


def test_jobs_in_an_answer_that_cannot_be_read_come_back(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lease is long: nobody but the runner itself gives them back."""
    long = timedelta(minutes=30)
    read: Any = protocol.Answer.read
    unread: list[object] = []

    async def read_all_but_one(self: Any) -> Any:
        answer = await read(self)
        if getattr(answer, "claimed", None) and not unread:
            unread.append(answer)
            raise psycopg.DataError("cannot be read")
        return answer

    monkeypatch.setattr(protocol.Answer, "read", read_all_but_one)
    place.app.handler("echo")(lambda job: job.payload)
    job = rota.enqueue(place.connection, "echo")
    state = f"select state from rota.jobs where id = {job}"

    async def serve() -> None:
        worker = rota.Worker(place.app, place.dsn, lease=long)
        work = asyncio.create_task(worker.run())
        await asyncio.to_thread(wait_until, lambda: place.value(state) == "completed")
        worker.drain()
        assert await work == 0

    asyncio.run(serve())
    assert unread
    found = place.connection.execute("select attempt, execution from rota.jobs")
    assert found.fetchall() == [(1, 2)]
