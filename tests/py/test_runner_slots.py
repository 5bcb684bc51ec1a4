"""How handlers share the event loop and the jobs of a queue, with no database."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import itertools
import math
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import pytest

from rota.app import Handler
from rota.execution import Execution
from rota.pace import BRISK_RATE, CALM_RATE, MOST, Pace
from rota.records import ClaimedJob, Completed, Returned
from rota.slots import Slots
from rota.worker import PATIENCE_SECONDS
from waiting import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    import rota
    from rota.connections import Effects
    from rota.execution import Settlement

    Coroutine: TypeAlias = Callable[[rota.Job], Awaitable[object]]

VARIABLE: contextvars.ContextVar[str] = contextvars.ContextVar("VARIABLE", default="")


class Line:
    """Slots, and what was decided of the executions in line for them."""

    def __init__(
        self,
        count: int = 1,
        patience: float = 60.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.clock = clock
        self.decisions: list[Settlement | None] = []
        self.slots = Slots(count, patience, lambda: None, clock)
        self.threads = ThreadPoolExecutor(1)

    def add(self, *functions: Coroutine) -> list[Execution]:
        now = self.clock()
        executions = [self._execution(n, f, now) for n, f in enumerate(functions)]
        self.slots.run(executions, self.threads)
        return executions

    def _execution(self, number: int, function: Coroutine, now: float) -> Execution:
        claimed = ClaimedJob(
            *(number, 1, 1, 1, "default", 0, "kind", "null", None, 0.0, 0.0)
        )
        return Execution(
            claimed,
            Handler(function, is_async=True),
            cast("Effects", None),
            now,
            lambda _execution, settlement: self.decisions.append(settlement),
        )

    async def end(self) -> None:
        async with asyncio.timeout(PATIENCE):
            while self.slots.running_count:  # noqa: ASYNC110 - it has no event for this
                await asyncio.sleep(0)

    @property
    def results(self) -> list[str | None]:
        completed = [d for d in self.decisions if isinstance(d, Completed)]
        assert len(completed) == len(self.decisions)
        return [c.result for c in completed]


def run(functions: Sequence[Coroutine], **options: Any) -> Line:
    async def main() -> Line:
        line = Line(**options)
        line.add(*functions)
        await line.end()
        return line

    return asyncio.run(main())


def test_handlers_that_never_suspend_share_a_task(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("rota.slots.BREATH_SECONDS", 60)
    tasks = []

    async def handler(_job: rota.Job) -> None:
        tasks.append(asyncio.current_task())

    run([handler] * 100, count=10)
    assert len(tasks) == 100
    assert len(set(tasks)) == 1


def test_the_loop_breathes_between_handlers_that_never_suspend() -> None:
    """On a clock that moves on by half of their time whenever it is read."""
    ticks = 0

    def tick(loop: asyncio.AbstractEventLoop) -> None:
        nonlocal ticks
        ticks += 1
        loop.call_soon(tick, loop)

    async def first(_job: rota.Job) -> None:
        loop = asyncio.get_running_loop()
        loop.call_soon(tick, loop)

    async def handler(_job: rota.Job) -> None:
        pass

    run([first, *[handler] * 99], clock=itertools.count(0, 0.0005).__next__)
    assert ticks >= 30


def test_jobs_that_hold_all_slots_are_named_less_and_less_often(
    caplog: pytest.LogCaptureFixture,
) -> None:
    now = 0.0

    async def main() -> None:
        nonlocal now
        line = Line(count=2, clock=lambda: now)
        end = asyncio.Event()

        async def stays(_job: rota.Job) -> None:
            while not end.is_set():
                with contextlib.suppress(asyncio.CancelledError):
                    await end.wait()

        first, second = line.add(stays, stays)
        async with asyncio.timeout(30):
            while not second.has_begun:  # noqa: ASYNC110 - it has no event for this
                await asyncio.sleep(0)
        first.stop("timed_out")
        for now in map(float, range(1000)):  # noqa: B007 - the clock reads it
            line.slots.complain()
        end.set()
        await line.end()
        now += 1000
        line.slots.complain()

    asyncio.run(main())
    assert [r.getMessage() for r in caplog.records if "slot" in r.msg] == [
        f"no slot has become free for {s} s, 2 are taken, the longest by"
        f" job 0 ({s} s, told to end), job 1 ({s} s)"
        for s in (60, 120, 240, 480, 960)
    ]


def test_when_a_handler_suspends_the_next_goes_on() -> None:
    async def main() -> Line:
        line = Line(count=2)
        event = asyncio.Event()

        async def waits(_job: rota.Job) -> str:
            await event.wait()
            return "waited"

        async def sets(_job: rota.Job) -> str:
            event.set()
            return "set"

        line.add(waits, sets)
        await line.end()
        return line

    assert asyncio.run(main()).results == ['"set"', '"waited"']


def test_no_more_run_at_once_than_there_are_slots() -> None:
    running, most = 0, 0

    async def handler(_job: rota.Job) -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        for _ in range(5):
            await asyncio.sleep(0)
        running -= 1

    assert len(run([handler] * 50, count=7).results) == 50
    assert most == 7


def test_context_variables_do_not_leak_into_the_next_job() -> None:
    async def sets(_job: rota.Job) -> str:
        before = VARIABLE.get()
        VARIABLE.set("leaked")
        return before

    async def looks(_job: rota.Job) -> str:
        return VARIABLE.get()

    async def suspends(_job: rota.Job) -> str:
        VARIABLE.set("leaked")
        await asyncio.sleep(0)
        return ""

    found = run([sets, looks, suspends, looks, sets, sets, looks]).results
    assert found == ['""'] * 7


def test_cancelling_one_job_leaves_the_next_alone() -> None:
    def cancel_own() -> None:
        task = asyncio.current_task()
        assert task
        task.cancel()

    async def cancels_and_returns(_job: rota.Job) -> str:
        cancel_own()
        return "returned"

    async def cancels_and_catches(_job: rota.Job) -> str:
        cancel_own()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.sleep(0)
        return "caught"

    async def innocent(_job: rota.Job) -> str:
        task = asyncio.current_task()
        assert task
        await asyncio.sleep(0)
        return f"cancelled {task.cancelling()} times"

    fine = '"cancelled 0 times"'
    line = run([cancels_and_returns, innocent, cancels_and_catches, innocent])
    assert line.results == ['"returned"', fine, '"caught"', fine]


def test_a_cancelled_job_is_told_and_not_its_neighbours() -> None:
    async def main() -> Line:
        line = Line(count=2)
        go = asyncio.Event()

        async def waits(job: rota.Job) -> str:
            try:
                await go.wait()
            except asyncio.CancelledError:
                return f"told {job.cancelled.is_set()}"
            return f"told {job.cancelled.is_set()}"

        first, *_ = line.add(*[waits] * 3)
        for _ in range(5):
            await asyncio.sleep(0)
        first.cancel()
        for _ in range(5):
            await asyncio.sleep(0)
        go.set()
        await line.end()
        return line

    assert asyncio.run(main()).results == ['"told True"', *['"told False"'] * 2]


def test_timeouts_in_a_handler_work_as_in_any_task() -> None:
    async def times_out(_job: rota.Job) -> str:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await asyncio.sleep(60)
        return "timed out"

    assert run([times_out] * 3).results == ['"timed out"'] * 3


def test_what_was_in_line_for_too_long_is_not_begun(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("rota.slots.BREATH_SECONDS", 60)
    now = 0.0

    async def main() -> None:
        nonlocal now
        line = Line(patience=0.2, clock=lambda: now)

        async def slow(_job: rota.Job) -> str:
            nonlocal now
            now = 0.3
            return "slow"

        async def fast(_job: rota.Job) -> str:
            return "fast"

        line.add(slow, fast, fast)
        await line.end()
        assert line.results == ['"slow"']
        line.add(fast)  # is behind them
        assert not line.slots.running_count
        stale = line.slots.take_stale()
        assert [execution.has_begun for execution in stale] == [False, False]
        await line.end()
        assert line.results == ['"slow"', '"fast"']

    asyncio.run(main())


def test_a_job_that_was_stopped_in_line_is_not_begun() -> None:
    begun = []

    async def main() -> None:
        line = Line()

        async def handler(job: rota.Job) -> None:
            begun.append(job.id)

        first, second, *_ = line.add(*[handler] * 3)
        first.stop("lost")
        second.cancel()
        await line.end()
        lost, cancelled, completed = line.decisions
        assert lost is None
        assert isinstance(cancelled, Returned)
        assert cancelled.outcome == "released"
        assert isinstance(completed, Completed)

    asyncio.run(main())
    assert begun == [2]


def test_what_is_asked_for_follows_from_what_will_be_left_in_line() -> None:
    pace = Pace()
    assert pace.wanted(vacant=10, in_line=0) == 10
    assert pace.wanted(vacant=10, in_line=4) == 6
    assert pace.wanted(vacant=0, in_line=4) == 0
    pace.note(finished=100, busy=0.001, exchange=0.002)  # 100 in an exchange of 1 ms
    assert pace.expected == 100
    assert pace.wanted(vacant=10, in_line=0) == 200
    assert pace.wanted(vacant=10, in_line=100) == 200
    assert pace.wanted(vacant=10, in_line=150) == 150
    assert pace.wanted(vacant=300, in_line=150) == 250
    pace.note(finished=10_000, busy=0.001, exchange=1.0)
    assert pace.wanted(vacant=10, in_line=MOST) == MOST


def test_nothing_is_fetched_that_could_not_be_begun_in_time() -> None:
    """With a database that is slow to answer, and handlers at a moderate pace."""
    pace = Pace()
    for _ in range(5):
        pace.note(finished=100, busy=1.0, exchange=1.0)
    assert pace.wanted(vacant=0, in_line=0) <= 100 * PATIENCE_SECONDS / 4


def test_fast_handlers_are_fetched_ahead_for_and_slow_ones_are_not() -> None:
    pace = Pace()
    assert pace.expected == 0
    pace.note(finished=0, busy=0.0, exchange=0.004)
    assert pace.expected == 0
    pace.note(finished=100, busy=0.002, exchange=0.002)
    assert 50 <= pace.expected <= MOST
    pace.note(finished=1, busy=1.0, exchange=0.002)
    assert pace.expected == 0
    pace.note(finished=10_000, busy=0.1, exchange=0.002)
    assert pace.expected > 0
    pace.forget()
    assert pace.expected == 0


def test_jobs_that_keep_coming_fast_are_looked_for_until_they_no_longer_do() -> None:
    pace = Pace()
    pace.note_claim(1, math.inf)

    def is_brisk_at(rate: float) -> bool:
        for _ in range(100):
            pace.note_claim(1, 1 / rate)
        return pace.is_brisk

    rates = (BRISK_RATE * 0.9, BRISK_RATE * 1.1, CALM_RATE * 1.1, CALM_RATE * 0.9)
    assert [is_brisk_at(rate) for rate in rates] == [False, True, True, False]


def test_a_runner_sleeps_soon_after_a_burst() -> None:
    pace = Pace()
    for _ in range(100):
        pace.note_claim(MOST, 0.01)
    looks = 0
    while pace.is_brisk:
        pace.note_claim(0, 0.001)
        looks += 1
    assert 0 < looks < 100


def test_few_jobs_at_once_after_a_pause_are_not_many_in_a_row() -> None:
    pace = Pace()
    for _ in range(20):
        pace.note_claim(10, 1.0)
        pace.note_claim(10, 0.001)
    assert not pace.is_brisk
