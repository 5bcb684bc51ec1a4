"""What is looked at every few seconds while the soak goes on."""

from __future__ import annotations

import contextlib
import os
import statistics
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg

if TYPE_CHECKING:
    from datetime import datetime

MIB = 2**20
_SIZES = """
with relation as (
    select
        c.oid,
        -- A partition counts for its table.
        coalesce(p.inhparent, c.oid)::regclass::text as name
    from pg_class as c
    left join pg_inherits as p on p.inhrelid = c.oid
    where c.relnamespace = 'rota'::regnamespace and c.relkind = 'r'
)

select
    sum(pg_table_size(r.oid)) filter (where r.name = 'rota.job'),
    sum(pg_indexes_size(r.oid)) filter (where r.name = 'rota.job'),
    sum(pg_total_relation_size(r.oid)) filter (
        where r.name in ('rota.archive', 'rota.attempt', 'rota.dead_letter')
    ),
    sum(pg_total_relation_size(r.oid)) filter (
        where r.name not in (
            'rota.job', 'rota.archive', 'rota.attempt', 'rota.dead_letter'
        )
    )
from relation as r
"""
_COUNTS = """
select
    (select count(*) from rota.job),
    (
        select s.n_dead_tup
        from pg_stat_user_tables as s
        where s.relid = 'rota.job'::regclass
    ),
    pg_notification_queue_usage()
"""
_LATENCY = """
select
    count(*),
    percentile_cont(array[0.5, 0.99]) within group (
        order by extract(epoch from a.claimed_at - a.run_at)
    )
from rota.archive as a
where a.state = 'completed' and a.finished_at >= %s and a.finished_at < %s
"""


@dataclass(frozen=True, slots=True)
class Sample:
    """One look. Sizes in MiB; history is what grows by design: what was finished.

    runner_cpu, server_cpu: seconds of processor time so far, of the runners and of
        their sessions. machine_load: how many processes ran or wanted to.
    """

    second: float
    phase: str
    runner_mib: list[float]
    job_mib: float
    job_index_mib: float
    history_mib: float
    small_mib: float
    live_count: int
    dead_tuple_count: int
    notify_usage: float
    runner_cpu: float
    server_cpu: float
    machine_load: float


@dataclass(frozen=True, slots=True)
class Latency:
    """From due to claimed, of what was completed in a stretch of time.

    plain_p99_ms: what one plain insert and its commit took meanwhile, pauses of the
        machine included.
    """

    phase: str
    count: int
    p50_ms: float
    p99_ms: float
    plain_p99_ms: float


class Yardstick(threading.Thread):
    """Inserts a row into a table of its own ten times a second: how fast things are."""

    def __init__(self, dsn: str) -> None:
        super().__init__(daemon=True)
        self._dsn = dsn
        self._is_over = threading.Event()
        self._taken: list[tuple[float, float]] = []

    def end(self) -> None:
        self._is_over.set()
        self.join(60)

    def run(self) -> None:
        with psycopg.connect(self._dsn, autocommit=True) as session:
            session.execute("create table yardstick (at timestamptz)")
            due = time.monotonic()
            while not self._is_over.wait(max(0.0, due - time.monotonic())):
                session.execute("insert into yardstick values (now())")
                now = time.monotonic()
                self._taken.append((now, now - due))
                due = max(due + 0.1, now)

    def p99_ms(self, seconds: float) -> float:
        """Of the last so many seconds."""
        since = time.monotonic() - seconds
        taken = [took for at, took in self._taken if at >= since]
        if len(taken) < 2:
            return 0.0
        return round(statistics.quantiles(taken, n=100)[98] * 1000, 1)


class Processes:
    """The runners and, at the server, their sessions, some of which come and go."""

    def __init__(self, runners: list[int]) -> None:
        self._runners = runners
        self._sessions: dict[int, float] = {}

    def memory(self) -> list[float]:
        """Return the resident MiB of each runner."""
        return [_resident_mib(pid) for pid in self._runners]

    def seconds(self, session: psycopg.Connection[Any]) -> tuple[float, float]:
        """Return the processor time of the runners, and of their sessions, so far."""
        for (pid,) in session.execute(
            "select pid from pg_stat_activity where application_name = 'rota'"
        ):
            with contextlib.suppress(OSError):  # gone meanwhile
                self._sessions[pid] = _seconds(pid)
        return sum(map(_seconds, self._runners)), sum(self._sessions.values())


def _resident_mib(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        name, _, rest = line.partition(":")
        if name == "VmRSS":
            return round(int(rest.split()[0]) / 1024, 1)
    raise RuntimeError(f"process {pid} has ended")


def _seconds(pid: int) -> float:
    """User and system time, as proc(5) has them after the name in brackets."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def sample(
    session: psycopg.Connection[Any], processes: Processes, second: float, phase: str
) -> Sample:
    sizes = session.execute(_SIZES).fetchone()
    counts = session.execute(_COUNTS).fetchone()
    assert sizes and counts
    job, index, history, small = (round(float(size) / MIB, 2) for size in sizes)
    live, dead, usage = counts
    runners = processes.memory()
    runner_cpu, server_cpu = processes.seconds(session)
    return Sample(
        *(round(second, 1), phase, runners, job, index, history, small),
        *(live, dead, usage, runner_cpu, server_cpu, round(os.getloadavg()[0], 1)),
    )


def latency(
    session: psycopg.Connection[Any],
    yardstick: Yardstick,
    phase: str,
    since: datetime,
    until: datetime,
) -> Latency:
    row = session.execute(_LATENCY, [since, until]).fetchone()
    assert row
    p50, p99 = row[1] or (0.0, 0.0)
    plain = yardstick.p99_ms((until - since).total_seconds())
    return Latency(phase, row[0], round(p50 * 1000, 1), round(p99 * 1000, 1), plain)
