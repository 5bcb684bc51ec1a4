"""Half an hour of steady, mixed work, and whether anything creeps up meanwhile.

A third of the time a reader keeps a snapshot open, so that nothing dead can be removed;
then comes a vacuum. A shorter run shows the same, but is judged only by whether all
jobs were done once. On Linux only, for it reads /proc.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import time
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg

from rota import schema
from rota.demo.server import server
from soak.load import QUEUE, Load
from soak.verdict import Finding, findings, phase_table, table
from soak.watch import Latency, Processes, Sample, Yardstick, latency, sample

if TYPE_CHECKING:
    from collections.abc import Iterator

TESTS = Path(__file__).resolve().parents[1]
# What part of the time each takes; what comes before the rest is to warm up.
PHASES = {"warm-up": 0.1, "before": 0.25, "reader": 0.33, "after": 0.32}
MOST_SAMPLES = 360
FEWEST_SAMPLES = 4
# At the end, a machine may be slow but not stand still.
DRAIN_SECONDS = 120.0
# In less time than this, nothing can be said of growth.
MINUTES_TO_JUDGE = 10


@dataclass(slots=True)
class Soak:
    """One run."""

    dsn: str
    session: psycopg.Connection[Any]
    yardstick: Yardstick
    processes: Processes
    seconds: float
    samples: list[Sample] = field(default_factory=list)
    latencies: list[Latency] = field(default_factory=list)
    minutes: list[Latency] = field(default_factory=list)

    def go_through_phases(self) -> None:
        begun = time.monotonic()
        for phase, part in PHASES.items():
            with contextlib.ExitStack() as stack:
                if phase == "reader":
                    stack.enter_context(self._reader())
                elif phase == "after":
                    self.session.execute("vacuum")
                self._watch(phase, begun, part * self.seconds)

    @contextlib.contextmanager
    def _reader(self) -> Iterator[None]:
        """A snapshot of everything, kept open."""
        with psycopg.connect(self.dsn) as reader:
            reader.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            reader.execute("select count(*) from rota.jobs")
            yield

    def _watch(self, phase: str, begun: float, seconds: float) -> None:
        """Take samples for so long, and never so few that there is no comparing."""
        gap = max(1.0, self.seconds / MOST_SAMPLES)
        end = time.monotonic() + seconds
        since = minute = self._now()
        count = 0
        while (left := end - time.monotonic()) > 0 or count < FEWEST_SAMPLES:
            if count:
                time.sleep(min(gap, left) if left > 0 else gap)
            self._look(phase, begun)
            count += 1
            if (self._now() - minute).total_seconds() >= 60:
                minute = self._end_minute(phase, minute)
        self._end_minute(phase, minute)
        self.latencies.append(self._latency(phase, since))

    def _look(self, phase: str, begun: float) -> None:
        second = time.monotonic() - begun
        self.samples.append(sample(self.session, self.processes, second, phase))

    def _end_minute(self, phase: str, since: datetime) -> datetime:
        self.minutes.append(self._latency(phase, since))
        _say_minute(self.samples[-1], self.minutes[-1])
        return self._now()

    def _latency(self, phase: str, since: datetime) -> Latency:
        return latency(self.session, self.yardstick, phase, since, self._now())

    def _now(self) -> datetime:
        row = self.session.execute("select clock_timestamp()").fetchone()
        assert row and isinstance(row[0], datetime)
        return row[0]

    def drain(self) -> bool:
        """Wait until the jobs are done, as long as they get fewer; whether they are."""
        live = (
            "select count(*) from rota.jobs"
            " where state in ('scheduled', 'queued', 'running') and kind <> 'tick'"
        )
        fewest, since = self._value(live), time.monotonic()
        while fewest and time.monotonic() < since + DRAIN_SECONDS:
            time.sleep(0.2)
            if (count := self._value(live)) < fewest:
                fewest, since = count, time.monotonic()
        return not fewest

    def _value(self, query: str, *parameters: object) -> int:
        row = self.session.execute(query.encode(), parameters).fetchone()
        assert row
        return int(row[0])

    def accounts(self, load: Load) -> list[Finding]:
        """Whether each acknowledged job ended once, and each effect happened once."""
        lost = self._value(
            "select count(*) from unnest(%s::bigint[]) as a (id)"
            " left join rota.jobs as j on j.id = a.id"
            " where coalesce(j.state, 'gone')"
            " not in ('completed', 'cancelled', 'dead')",
            load.acknowledged,
        )
        doubled = self._value(
            "select count(*) - count(distinct e.job_id) from rota.executions as e"
            " where e.outcome = 'completed'"
        )
        odd = self._value(
            "select count(*)"
            " from (select job, count(*) from effect group by 1) as e (job, count)"
            " full join ("
            "     select j.id from rota.jobs as j"
            "     where j.kind like %s and j.state = 'completed'"
            " ) as j on j.id = e.job"
            " where j.id is null or e.count is distinct from 1",
            "effect%",
        )
        return [
            Finding("jobs lost", lost == 0, f"{lost} of {len(load.acknowledged):,}"),
            Finding("jobs completed twice", doubled == 0, str(doubled)),
            Finding("effects missing or too many", odd == 0, str(odd)),
        ]


def _say_minute(seen: Sample, minute: Latency) -> None:
    print(
        f"{seen.second / 60:5.1f} min {seen.phase:8}"
        f" {minute.count:6,} done, p50 {minute.p50_ms:.1f} p99 {minute.p99_ms:.1f} ms"
        f" (plain insert {minute.plain_p99_ms:.1f}),"
        f" runners {' + '.join(map(str, seen.runner_mib))} MiB,"
        f" job {seen.job_mib:.1f} + {seen.job_index_mib:.1f} MiB,"
        f" {seen.dead_tuple_count:,} dead rows",
        flush=True,
    )


def _prepare(dsn: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as session:
        schema.install(session)
        session.execute(
            "select rota.create_retry_policy('soon', 'fixed', base => '1 second')"
        )
        session.execute(
            "select rota.create_queue(%s, max_attempts => 3, retry_policy => 'soon')",
            [QUEUE],
        )
        # No unique key: one written twice is to be seen, not refused.
        session.execute("create table effect (job bigint)")


def _start_runner(dsn: str, log: Path) -> subprocess.Popen[bytes]:
    with log.open("w") as output:
        return subprocess.Popen(
            [
                *(sys.executable, "-m", "rota", "worker", "--app", "soak.app:app"),
                *("--queues", QUEUE, "--concurrency", "20", "--lease", "120"),
                *("--log-level", "warning", "--name", log.stem),
            ],
            cwd=TESTS,
            env=os.environ | {"ROTA_DSN": dsn},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )


def _end(runner: subprocess.Popen[bytes]) -> None:
    runner.kill()
    runner.wait()


def soak(options: argparse.Namespace) -> bool:
    seconds = options.minutes * 60
    settings = {
        "shared_buffers": "256MB",
        "max_wal_size": "2GB",
        # Its default in a run of half an hour, and as often in a shorter one.
        "autovacuum_naptime": f"{max(1, round(min(60, seconds / 30)))}s",
    }
    folder = options.out.parent
    folder.mkdir(parents=True, exist_ok=True)
    logs = [folder / f"soak-runner-{n + 1}.log" for n in range(options.runners)]
    with contextlib.ExitStack() as stack:
        dsn = stack.enter_context(server(durable=True, settings=settings))
        _prepare(dsn)
        runners = [_start_runner(dsn, log) for log in logs]
        for runner in runners:
            stack.callback(_end, runner)
        session = stack.enter_context(psycopg.connect(dsn, autocommit=True))
        yardstick = Yardstick(dsn)
        load = Load(dsn, options.rate)
        for thread in (yardstick, load):
            thread.start()
            stack.callback(thread.end)
        processes = Processes([runner.pid for runner in runners])
        run = Soak(dsn, session, yardstick, processes, seconds)
        run.go_through_phases()
        load.end()
        is_drained = run.drain()
        for runner in runners:
            runner.terminate()
        codes = [runner.wait(DRAIN_SECONDS) for runner in runners]
        lines = sum(len(log.read_text().splitlines()) for log in logs)
        growth = findings(run.samples, run.latencies)
        accounts = [
            *run.accounts(load),
            Finding("drained at the end", is_drained, "yes" if is_drained else "no"),
            Finding("exit codes of the runners", not any(codes), str(codes)),
            Finding("warnings of the runners", lines == 0, str(lines)),
        ]
    is_judged = options.minutes >= MINUTES_TO_JUDGE
    found = [*accounts, *(growth if is_judged else ())]
    _report(options, run, load, [*growth, *accounts], found)
    return all(finding.is_good for finding in found)


def _report(
    options: argparse.Namespace,
    run: Soak,
    load: Load,
    found: list[Finding],
    judged: list[Finding],
) -> None:
    print(
        f"\n{options.minutes:g} minutes, {options.rate} jobs/s asked for,"
        f" {len(load.acknowledged):,} enqueued, {load.kept_count:,} with a key in use,"
        f" {load.cancelled_count:,} cancelled\n"
    )
    print(phase_table(run.samples, run.latencies), end="\n\n")
    rows = [["", "seen", ""]]
    verdicts = {True: "good", False: "BAD"}
    rows += [
        [f.name, f.seen, verdicts[f.is_good] if f in judged else "too short to tell"]
        for f in found
    ]
    print(table(rows))
    stored = {
        "minutes": options.minutes,
        "rate": options.rate,
        "samples": [asdict(entry) for entry in run.samples],
        "per_minute": [asdict(entry) for entry in run.minutes],
        "phases": [asdict(entry) for entry in run.latencies],
        "findings": [asdict(entry) for entry in found],
    }
    options.out.write_text(json.dumps(stored, indent=1))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--rate", type=int, default=200, help="jobs a second")
    parser.add_argument("--runners", type=int, default=2, help="runner processes")
    parser.add_argument("--out", type=Path, default=Path("build/soak.json"))
    return 0 if soak(parser.parse_args()) else 1


if __name__ == "__main__":
    sys.exit(main())
