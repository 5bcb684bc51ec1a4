"""One trial: runners under load, faults injected, and the account of it."""

from __future__ import annotations

import contextlib
import os
import random
import re
import signal
import threading
import time
from collections import Counter
from dataclasses import asdict, dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

import psycopg
from psycopg.types.json import Jsonb

from faults.ledger import Account, Trail, judge
from invariants import violations
from runner_process import Runner
from waiting import PATIENCE, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

T = TypeVar("T")
HERE = Path(__file__).parent
# What nobody but the job itself may fail, has no attempt to spare.
OPTIONS: dict[str, dict[str, int]] = {
    "plain": {"max_attempts": 1},
    "thread": {"max_attempts": 1},
    "flaky": {"max_attempts": 2},
    "posted": {},
    "posted_async": {},
}
KINDS = tuple(OPTIONS)
LEASE_SECONDS = 1.2
_PREPARE = """
create schema ledger;
create table ledger.posting (job_id bigint not null, execution integer not null);
do $$
begin
    perform rota.create_retry_policy(
        'soon', strategy => 'fixed', base => '100 ms', jitter => 'none'
    );
    perform rota.alter_queue(
        'default', retry_policy => 'soon', max_attempts => 1000, max_lost => 1000
    );
    perform rota.alter_settings(timeout_grace => '1 s');
end $$;
"""


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table in which a run of the fault tests ends."""

    fault: str
    injected: int
    jobs: int
    lost: int
    doubled: int
    recovered: float | None


class Client:
    """A connection that is opened again whenever it is lost, however long that takes.

    What was under way is said again, so it had better be harmless.
    """

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self._connection: psycopg.Connection[Any] | None = None

    def ask(self, query: str, **values: object) -> list[tuple[Any, ...]]:
        return self.run(lambda c: c.execute(query.encode(), values or None).fetchall())

    def run(self, body: Callable[[psycopg.Connection[Any]], T]) -> T:
        end = time.monotonic() + PATIENCE
        while True:
            try:
                if self._connection is None:
                    self._connection = psycopg.connect(
                        self._dsn, autocommit=True, application_name="faults"
                    )
                return body(self._connection)
            except psycopg.OperationalError:
                self.close()
                if time.monotonic() > end:
                    raise
                time.sleep(0.05)

    def close(self) -> None:
        if self._connection:
            self._connection.close()
        self._connection = None


class Load(threading.Thread):
    """Enqueues jobs of all kinds, a few at a time, until it is told to stop.

    Each has an idempotency key of its own and is enqueued again until the enqueue is
    acknowledged: then there has to be exactly one job of that key.
    """

    def __init__(
        self, dsn: str, seed: str, *, per_second: float, kinds: Sequence[str]
    ) -> None:
        super().__init__(daemon=True)
        self.acknowledged: dict[int, str] = {}
        self.error: BaseException | None = None
        self._client = Client(dsn)
        self._random = random.Random(seed)
        self._per_second = per_second
        self._kinds = kinds
        self._stop_asked = threading.Event()
        self._key = 0

    def run(self) -> None:
        try:
            while not self._stop_asked.is_set():
                count = self._random.choice((1, 1, 5, 12))
                self._enqueue(count)
                self._stop_asked.wait(count / self._per_second)
        except BaseException as error:  # noqa: BLE001 - raised in `finish`
            self.error = error
        finally:
            self._client.close()

    def finish(self) -> dict[int, str]:
        """Stop; returns the kind of each job that was acknowledged."""
        self._stop_asked.set()
        self.join(PATIENCE + 10)
        assert not self.is_alive()
        if self.error:
            raise self.error
        return self.acknowledged

    def _enqueue(self, count: int) -> None:
        kind = self._random.choice(self._kinds)
        keys = [f"load-{self._key + n}" for n in range(count)]
        self._key += count
        rows = self._client.ask(
            """
            select e.id
            from rota.enqueue_jobs(
                kinds => array_fill(%(kind)s::text, array[%(count)s::integer]),
                payloads => %(payloads)s::jsonb[],
                priorities => %(priorities)s::integer[],
                delays => %(delays)s::interval[],
                idempotency_keys => %(keys)s::text[],
                key_ttl => '1 hour',
                max_attempts => %(max_attempts)s
            ) as e
            """,
            kind=kind,
            count=count,
            payloads=[
                Jsonb({"seconds": round(self._random.uniform(0.0, 0.08), 3)})
                for _ in keys
            ],
            priorities=[self._random.randint(-1, 1) for _ in keys],
            delays=[
                timedelta(seconds=max(0.0, self._random.uniform(-1.5, 0.5)))
                for _ in keys
            ],
            keys=keys,
            max_attempts=OPTIONS[kind].get("max_attempts"),
        )
        assert len(rows) == count
        self.acknowledged.update((job, kind) for (job,) in rows)


class Trial:
    """Runners on a database with rota in it, and everything that happens to them.

    times: how many times as many faults to inject as in the short form.
    random: decides about all that is random, from the run's seed.
    recovered: how many seconds after each fault all was well again.
    """

    def __init__(
        self,
        dsn: str,
        folder: Path,
        seed: str,
        times: int,
        note: Callable[[Row], None],
    ) -> None:
        self.dsn = dsn
        self.folder = folder
        self.times = times
        self.random = random.Random(seed)
        self.client = Client(dsn)
        self.runners: list[Runner] = []
        self.expected: dict[int, str] = {}
        self._acknowledged: dict[int, str] = {}
        self._seed = seed
        self._note = note
        self._load: Load | None = None
        self._injected = 0
        self.recovered: list[float] = []
        self._began_at = self._injected_at = time.monotonic()
        self.client.run(lambda c: c.execute(_PREPARE))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for runner in self.runners:
            runner.kill()
        if self._load and self._load.is_alive():
            self._load._stop_asked.set()
        self.client.close()

    def start(
        self,
        *options: str,
        dsn: str | None = None,
        environment: dict[str, str] | None = None,
    ) -> Runner:
        """Start a runner: leases of 1.2 s, polling every 0.4 s, 8 jobs at once."""
        runner = Runner(
            dsn or self.dsn,
            self.folder / f"runner{len(self.runners)}.log",
            *("--app", "faults.app:app", "--concurrency", "8"),
            *("--lease", str(LEASE_SECONDS), *options),
            environment={
                **os.environ,
                "PYTHONPATH": str(HERE.parent),
                "FAULTS_LEDGER": str(self.folder),
                **(environment or {}),
            },
        )
        self.runners.append(runner)
        return runner

    def ready(self, *options: str, **more: Any) -> Runner:
        """Start a runner and wait until it has begun to claim."""
        runner = self.start(*options, **more)
        runner.wait_for("registered as worker")
        return runner

    def load(self, per_second: float = 100.0, kinds: Sequence[str] = KINDS) -> None:
        """Begin to enqueue, at this rate, until the end of the trial."""
        self._load = Load(self.dsn, self._seed, per_second=per_second, kinds=kinds)
        self._load.start()

    def enqueue(self, kind: str, seconds: float = 0.0, **options: Any) -> int:
        """Enqueue a job of one's own; options as rota.enqueue's."""
        names = {"kind": kind, "payload": Jsonb({"seconds": seconds}), **options}
        arguments = ", ".join(f"{name} => %({name})s" for name in names)
        ((job,),) = self.client.ask(f"select rota.enqueue({arguments})", **names)
        self._acknowledged[job] = kind
        return int(job)

    def state(self, job: int) -> str:
        ((state,),) = self.client.ask(
            "select state from rota.jobs where id = %(job)s", job=job
        )
        return str(state)

    def reaches(self, job: int, state: str) -> None:
        wait_until(lambda: self.state(job) == state)

    def begun(self, job: int, execution: int = 1) -> None:
        """Wait until the handler of that execution has begun."""
        token = (job, execution)
        wait_until(lambda: token in Trail.read(self.folder).begun)

    def sessions(self) -> list[tuple[int, str]]:
        """Return the server processes of the runners, each with what it last did."""
        return [
            (pid, query)
            for pid, query in self.client.ask(
                "select pid, query from pg_stat_activity"
                " where application_name = 'rota' and datname = current_database()"
            )
        ]

    def terminate(self, *pids: int) -> None:
        """End these server processes."""
        self.client.ask(
            "select pg_terminate_backend(u.pid)"
            " from unnest(%(pids)s::integer[]) as u (pid)",
            pids=list(pids),
        )

    def pause(self, low: float, high: float) -> None:
        """Let things go on for a random while, so that a fault hits them anywhere."""
        time.sleep(self.random.uniform(low, high))

    def injected(self, count: int = 1) -> None:
        """Count a fault, which is over now, or for whose worst the trial now waits."""
        self._injected += count
        self._injected_at = time.monotonic()

    def recovers(self, condition: Callable[[], object]) -> None:
        """Wait until all is well; take down how long that was after the fault."""
        wait_until(condition)
        self.recovered.append(time.monotonic() - self._injected_at)

    def probe(self) -> None:
        """Recover: all is well when a job that is enqueued now is completed."""
        job = self.enqueue("plain", max_attempts=1, priority=5)
        self.recovers(lambda: self.state(job) == "completed")

    def conclude(
        self,
        fault: str,
        *,
        warnings: int = 10,
        exit_codes: Sequence[int] = (0,),
    ) -> None:
        """Let all jobs come to their end, tell the runners to end, and judge.

        warnings: how many lines above INFO a runner may log, and one more a second,
            besides those that are about one job.
        exit_codes: what a runner that was not killed may end with.
        """
        if self._load:
            self._acknowledged |= self._load.finish()
        with contextlib.suppress(AssertionError):  # the verdict says it better
            self._wait_until_over()
        seconds = time.monotonic() - self._began_at
        codes = self._end_runners()
        verdict = self.client.run(
            lambda c: judge(
                self._acknowledged,
                self.expected,
                Trail.read(self.folder),
                Account.read(c),
            )
        )
        self._note(
            Row(
                fault,
                self._injected,
                len(self._acknowledged),
                len(verdict.lost),
                len(verdict.doubled),
                max(self.recovered, default=None),
            )
        )
        assert verdict, asdict(verdict)
        broken = self.client.run(violations)
        assert not broken, broken
        assert set(codes) <= set(exit_codes), codes
        for runner in self.runners:
            self._check_log(runner, warnings + seconds)

    def _wait_until_over(self) -> None:
        """Wait for the end of all jobs, as long as some end now and then."""
        wanted = Counter(
            self.expected.get(job, "completed") for job in self._acknowledged
        )

        def missing() -> Counter[str]:
            found = self.client.ask("select state from rota.jobs")
            return wanted - Counter(state for (state,) in found)

        while left := missing():
            wait_until(lambda: missing() != left)

    def _end_runners(self) -> list[int]:
        living = [runner for runner in self.runners if runner.process.poll() is None]
        for runner in living:
            runner.signal(signal.SIGTERM)
        return [runner.exit_code() for runner in living]

    def _check_log(self, runner: Runner, warnings: float) -> None:
        text = runner.output
        assert "Traceback" not in text, text
        found = re.findall(r"(?m)^.* (?:WARNING|ERROR|CRITICAL) (?!job \d).*$", text)
        assert len(found) <= warnings, "\n".join(found)
