"""What the samples say: a table of the phases, and whether anything crept up."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from soak.watch import Latency, Sample

# What is left of the noise of a machine that has other things to do as well.
MEMORY_GROWTH = 1.10
LATENCY_GROWTH = 2.0
LATENCY_NOISE_MS = 50.0
# A machine that stops for a second makes every latency one: as many plain inserts.
PLAIN_INSERTS = 5
SIZE_GROWTH = 1.05
SIZE_NOISE_MIB = 0.5
DEAD_NOISE = 2000
CPU_GROWTH = 1.3
# There are dead rows to step over, but the oldest of them only once in a while.
READER_COST = 2.0


@dataclass(frozen=True, slots=True)
class Finding:
    name: str
    is_good: bool
    seen: str


def findings(samples: Sequence[Sample], latencies: Sequence[Latency]) -> list[Finding]:
    """Compare the phases: before the reader, beside it, and after it and a vacuum."""
    before, reader, after = (
        [s for s in samples if s.phase == phase]
        for phase in ("before", "reader", "after")
    )
    late = after[len(after) // 2 :]
    usage = max(s.notify_usage for s in samples)
    of = {entry.phase: entry for entry in latencies}
    return [
        *_memory(before, late),
        *_latency(of),
        *_processor(of, before, reader, after),
        *_sizes(before[-1], reader[-1], after[-1]),
        _dead_rows(before, reader, late),
        Finding("notification queue", usage < 0.001, f"{usage:.2%} used"),
    ]


def _memory(before: Sequence[Sample], late: Sequence[Sample]) -> Iterator[Finding]:
    for number in range(len(before[0].runner_mib)):
        first, last = (
            statistics.median(s.runner_mib[number] for s in part)
            for part in (before, late)
        )
        yield Finding(
            f"memory of runner {number + 1}",
            last <= first * MEMORY_GROWTH,
            f"{first:.1f} → {last:.1f} MiB",
        )


def _latency(of: Mapping[str, Latency]) -> Iterator[Finding]:
    first = of["before"]
    for now in (of["reader"], of["after"]):
        most = first.p50_ms * LATENCY_GROWTH + LATENCY_NOISE_MS
        seen = f"{first.p50_ms:.1f} → {now.p50_ms:.1f} ms"
        yield Finding(f"latency p50, {now.phase}", now.p50_ms <= most, seen)
        most = max(
            first.p99_ms * LATENCY_GROWTH + LATENCY_NOISE_MS,
            now.plain_p99_ms * PLAIN_INSERTS,
        )
        seen = f"{first.p99_ms:.1f} → {now.p99_ms:.1f} ms"
        yield Finding(f"latency p99, {now.phase}", now.p99_ms <= most, seen)


def _processor(
    of: Mapping[str, Latency], *parts: Sequence[Sample]
) -> Iterator[Finding]:
    before, reader, after = (_cpu_ms(part, of[part[0].phase]) for part in parts)
    for number, name, most in ((0, "runners", CPU_GROWTH), (1, "server", READER_COST)):
        first, beside, last = before[number], reader[number], after[number]
        yield Finding(
            f"processor time a job, {name}",
            beside <= first * most and last <= first * CPU_GROWTH,
            f"{first:.2f} → {beside:.2f} beside the reader → {last:.2f} ms",
        )
    middle = len(parts[1]) // 2
    early, late = (_server_share(p) for p in (parts[1][:middle], parts[1][middle:]))
    yield Finding(
        "it does not grow with the reader's age",
        late <= early * CPU_GROWTH,
        f"{early:.1%} → {late:.1%} of a processor",
    )


def _server_share(part: Sequence[Sample]) -> float:
    first, last = part[0], part[-1]
    return (last.server_cpu - first.server_cpu) / (last.second - first.second)


def _cpu_ms(part: Sequence[Sample], of: Latency) -> tuple[float, float]:
    """Of the runners and of their sessions, for each job completed in a phase."""
    first, last = part[0], part[-1]
    return (
        (last.runner_cpu - first.runner_cpu) * 1000 / max(of.count, 1),
        (last.server_cpu - first.server_cpu) * 1000 / max(of.count, 1),
    )


def _sizes(before: Sample, reader: Sample, after: Sample) -> Iterator[Finding]:
    for name, first, then, last in (
        ("table job", before.job_mib, reader.job_mib, after.job_mib),
        (
            "indexes of job",
            before.job_index_mib,
            reader.job_index_mib,
            after.job_index_mib,
        ),
        ("small tables", before.small_mib, reader.small_mib, after.small_mib),
    ):
        yield Finding(
            f"{name}: space is used again",
            last <= then * SIZE_GROWTH + SIZE_NOISE_MIB,
            f"{first:.1f} → {then:.1f} beside the reader → {last:.1f} MiB",
        )


def _dead_rows(*parts: Sequence[Sample]) -> Finding:
    first, then, last = (
        statistics.median(s.dead_tuple_count for s in part) for part in parts
    )
    return Finding(
        "dead rows of job are gone",
        last <= first * 2 + DEAD_NOISE,
        f"{first:,.0f} → {then:,.0f} beside the reader → {last:,.0f}",
    )


def phase_table(samples: Sequence[Sample], latencies: Sequence[Latency]) -> str:
    """One row a phase: what it ended with, and its latency."""
    rows = [
        [
            *("phase", "runners MiB", "jobs done", "p50 ms", "p99 ms"),
            *("p99 of a plain insert", "CPU ms a job", "live jobs"),
            *("job MiB", "its indexes", "dead rows", "small tables", "history"),
            "machine load",
        ]
    ]
    for entry in latencies:
        own = [s for s in samples if s.phase == entry.phase]
        last = own[-1]
        rows.append(
            [
                entry.phase,
                " + ".join(f"{mib:.1f}" for mib in last.runner_mib),
                f"{entry.count:,}",
                f"{entry.p50_ms:.1f}",
                f"{entry.p99_ms:.1f}",
                f"{entry.plain_p99_ms:.1f}",
                "{:.2f} + {:.2f}".format(*_cpu_ms(own, entry)),
                f"{statistics.median(s.live_count for s in own):,.0f}",
                f"{last.job_mib:.1f}",
                f"{last.job_index_mib:.1f}",
                f"{statistics.median(s.dead_tuple_count for s in own):,.0f}",
                f"{last.small_mib:.1f}",
                f"{last.history_mib:.1f}",
                f"{statistics.median(s.machine_load for s in own):.1f}",
            ]
        )
    return table(rows)


def table(rows: Sequence[Sequence[str]]) -> str:
    """Return rows as a table in Markdown, the first one its head."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        f"| {' | '.join(c.ljust(w) for c, w in zip(row, widths, strict=True))} |"
        for row in rows
    ]
    lines.insert(1, f"|{'|'.join('-' * (w + 2) for w in widths)}|")
    return "\n".join(lines)
