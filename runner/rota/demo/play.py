"""The demo's course: work, trouble and mending, each of them for real."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from psycopg.types.json import Jsonb
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
)

from rota import enqueue_jobs
from rota.demo import work
from rota.demo.crew import Crew
from rota.demo.report import Report, Seen, grouped, report

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rich.console import Console

    from rota.demo.report import Connection

QUEUE = "demo"
WORKER_COUNT = 3
STALL_SECONDS = 60.0


class DemoError(RuntimeError):
    """The demo cannot go on; the message says why."""


class Demo:
    """One run, on a database in which rota is installed and nothing has happened."""

    def __init__(self, dsn: str, connection: Connection, console: Console) -> None:
        self._dsn = dsn
        self._connection = connection
        self._console = console
        self._progress = Progress(
            TextColumn("checksums"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[counts]}"),
            console=console,
            disable=not console.is_terminal,
            transient=True,
        )

    def run(self, plans: Sequence[work.Plan]) -> Report:
        """Do the work; return the account of it."""
        self._prepare()
        with (
            tempfile.TemporaryDirectory(prefix="rota-demo-") as folder,
            Crew(self._dsn, QUEUE, Path(folder)) as crew,
            self._progress,
        ):
            self._crew = crew
            self._task = self._progress.add_task("", total=len(plans), counts="")
            seen = self._work(plans)
        return report(self._connection, plans, seen)

    def _prepare(self) -> None:
        self._connection.execute(
            "create table demo.checksum"
            " (job_id bigint not null, file text not null, size bigint not null,"
            " sum text not null, written_at timestamptz not null default now())"
        )
        self._connection.execute(
            "select rota.create_retry_policy('demo', base => '20 ms', factor => 1.6,"
            " cap => '400 ms')"
        )
        self._connection.execute(
            "select rota.create_queue(%s, retry_policy => 'demo', max_attempts => %s)",
            [QUEUE, work.MAX_ATTEMPTS],
        )

    def _work(self, plans: Sequence[work.Plan]) -> Seen:
        crew, say = self._crew, self._say
        for _ in range(WORKER_COUNT):
            crew.start()
        self._until(self._are_all_registered)
        say(f"{WORKER_COUNT} workers: {', '.join(crew.names)}")

        started_at = time.monotonic()
        enqueue_jobs(self._connection, [p.job for p in plans], queue=QUEUE)
        seconds = time.monotonic() - started_at
        say(f"{_jobs(len(plans))} enqueued by one call in {seconds:.1f} s")

        waiting_count = sum(p.is_waiting for p in plans)
        self._until(lambda: self._handed_out_waiting() == waiting_count)
        killed, held_count = self._kill()
        drained, released_count = self._drain()
        crew.open_gate()
        self._until(lambda: self._executions(killed, "lost") == held_count)
        say(f"the lease of {killed} ran out: {_jobs(held_count)} came back, uncharged")

        replayed_count = self._replay(sum(p.is_poisoned for p in plans))
        self._until(lambda: not any(self._queue_counts()))
        for name in crew.names:
            if code := crew.drain(name):
                raise DemoError(f"{name} had nothing to do, and ended with {code}")
        return Seen(killed, held_count, drained, released_count, replayed_count)

    def _kill(self) -> tuple[str, int]:
        """Kill a worker that holds jobs; return it, and how many it died with."""
        name = [*self._holders(), *self._crew.names][0]
        self._crew.kill(name)
        # What it had sent before its death is done when its sessions are over.
        sessions = "select count(*) from pg_stat_activity where application_name = %s"
        self._until(lambda: not self._value(sessions, name))
        held_count = self._executions(name, "running", "lost")
        self._say(f"{name} killed (SIGKILL) while it ran {_jobs(held_count)}")
        self._crew.start()
        return name, held_count

    def _drain(self) -> tuple[str, int]:
        """Drain another worker that holds jobs, some of which outlast its grace time.

        Returns it, and how many jobs it handed back.
        """
        holders = [name for name in self._holders() if name in self._crew.names]
        name = [*holders, *self._crew.names][0]
        code = self._crew.drain(name)
        released_count = self._executions(name, "released")
        if code != (3 if released_count else 0) or (holders and not released_count):
            raise DemoError(f"{name} ended with {code} and released {released_count}")
        self._say(
            f"{name} drained (SIGTERM): {_jobs(released_count)} outlasted its grace"
            f" time and went back, uncharged; exit status {code}"
        )
        self._crew.start()
        return name, released_count

    def _replay(self, poisoned_count: int) -> int:
        """Wait for the poisoned jobs to die, mend them, and let them run again."""
        self._until(lambda: self._queue_counts()[3] == poisoned_count)
        replayed = self._connection.execute(
            "select id from rota.replay_dead(queue => %s, payload_patch => %s,"
            " max_jobs => %s)",
            [QUEUE, Jsonb({"algorithm": work.ALGORITHM}), max(poisoned_count, 1)],
        ).fetchall()
        self._say(f"dead, mended and replayed: {_jobs(len(replayed))}")
        return len(replayed)

    def _are_all_registered(self) -> bool:
        registered = self._connection.execute(
            "select name from rota.worker_status where state = 'alive'"
        ).fetchall()
        return {name for (name,) in registered} >= set(self._crew.names)

    def _holders(self) -> list[str]:
        """Name the workers that hold jobs which wait at the gate."""
        rows = self._connection.execute(
            "select distinct w.name from rota.jobs as j"
            " inner join rota.worker_status as w on w.id = j.worker_id"
            " where j.state = 'running' and j.execution = 1 and j.payload ? 'waits'"
            " order by w.name"
        ).fetchall()
        return [name for (name,) in rows]

    def _handed_out_waiting(self) -> int:
        """Count the jobs that are to wait and were handed to a worker."""
        return self._value(
            "select count(*) from rota.jobs where execution > 0 and payload ? 'waits'"
        )

    def _executions(self, worker: str, *outcomes: str) -> int:
        return self._value(
            "select count(*) from rota.executions as e"
            " inner join rota.worker_status as w on w.id = e.worker_id"
            " where w.name = %s and e.outcome = any (%s)",
            worker,
            list(outcomes),
        )

    def _until(self, condition: Callable[[], object]) -> None:
        """Wait, showing how far the work is; give up when it gets no further."""
        last, changed_at = self._show(), time.monotonic()
        while not condition():
            if gone := self._crew.ended():
                log = self._crew.log(gone[0]).read_text(errors="replace")
                raise DemoError(f"{gone[0]} ended by itself:\n{log}")
            time.sleep(0.2)
            if (now := self._show()) != last:
                last, changed_at = now, time.monotonic()
            elif time.monotonic() > changed_at + STALL_SECONDS:
                raise DemoError(f"nothing has happened for {STALL_SECONDS:.0f} seconds")

    def _show(self) -> tuple[int, ...]:
        counts = (
            *self._queue_counts(),
            self._value("select count(*) from demo.checksum"),
        )
        self._progress.update(
            self._task,
            completed=counts[-1],
            counts="to retry {} · queued {} · running {} · dead {}".format(*counts),
        )
        return counts

    def _queue_counts(self) -> tuple[int, int, int, int]:
        """Return how many jobs are scheduled, queued, running and dead."""
        row = self._connection.execute(
            "select scheduled_count, queued_count, running_count, dead_count"
            " from rota.queue_stats where queue = %s",
            [QUEUE],
        ).fetchone()
        assert row is not None
        return row

    def _value(self, query: str, *parameters: object) -> int:
        row = self._connection.execute(query.encode(), parameters).fetchone()
        assert row is not None
        return int(row[0])

    def _say(self, text: str) -> None:
        self._progress.console.print(text, highlight=False)


def _jobs(count: int) -> str:
    return f"{grouped(count)} {'job' if count == 1 else 'jobs'}"
