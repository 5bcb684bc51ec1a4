"""What the fault tests share: their options, the trial and the table at the end."""

from __future__ import annotations

import json
import random
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import pytest

from faults.trial import Row, Trial

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

HEADINGS = ("fault", "injected", "jobs", "lost", "doubled", "recovered in (s)")


class NewTrial(Protocol):
    """Begins a trial on a database with rota in it."""

    def __call__(self, dsn: str) -> Trial: ...


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("faults")
    group.addoption(
        "--times", type=int, default=1, help="how many times as many faults"
    )
    group.addoption("--seed", type=int, help="of a run that is to be repeated")
    group.addoption("--table", type=Path, help="file to write the table to, as JSON")


def pytest_configure(config: pytest.Config) -> None:
    if config.option.seed is None:
        config.option.seed = random.randrange(1_000_000)


def pytest_report_header(config: pytest.Config) -> str:
    return f"faults: --seed {config.option.seed} --times {config.option.times}"


def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    limit = 900 + 120 * config.option.times
    for item in items:
        item.add_marker(pytest.mark.timeout(limit))


@pytest.fixture
def begin(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    record_property: Callable[[str, object], None],
) -> Iterator[NewTrial]:
    """Begin a trial, of which no process is left after the test."""
    trials: list[Trial] = []

    def new(dsn: str) -> Trial:
        trial = Trial(
            dsn,
            tmp_path,
            f"{request.config.option.seed} {request.node.name}",
            request.config.option.times,
            lambda row: record_property("fault", asdict(row)),
        )
        trials.append(trial)
        return trial

    yield new
    for trial in trials:
        trial.__exit__()


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    rows = [
        Row(**value)
        for reports in terminalreporter.stats.values()
        for report in reports
        if getattr(report, "when", None) == "call"
        for name, value in report.user_properties
        if name == "fault"
    ]
    rows.sort(key=lambda row: row.fault)
    if not rows:
        return
    if config.option.table:
        text = json.dumps([asdict(row) for row in rows], indent=2)
        config.option.table.write_text(f"{text}\n")
    cells = [HEADINGS, *(_cells(row) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    terminalreporter.section("faults")
    for line in cells:
        first, *others = (
            cell.ljust(width) if at == 0 else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        terminalreporter.write_line("  ".join((first, *others)))


def _cells(row: Row) -> tuple[str, ...]:
    recovered = "" if row.recovered is None else f"{row.recovered:.1f}"
    return (
        *(row.fault, str(row.injected), str(row.jobs)),
        *(str(row.lost), str(row.doubled), recovered),
    )
