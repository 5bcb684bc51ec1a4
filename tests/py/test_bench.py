"""The arithmetic behind the published figures, and that a worker's drain is counted."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from bench import __main__ as command
from bench.drain import drain_processes
from bench.figures import FIGURES, Case, Goal, take_rounds
from bench.horizon import rate
from bench.lab import lab
from bench.latency import percentile
from bench.report import page, table

if TYPE_CHECKING:
    from bench.figures import Measured

VALUES = {"rota": {"jobs/s": [80.0, 90.0, 10.0]}, "raw": {"jobs/s": [100.0, 90.0]}}


def test_every_figure_has_a_title_and_a_method() -> None:
    assert command.GROUPS
    assert all(figure.title and figure.method for figure in FIGURES.values())


def test_sides_take_turns_in_going_first() -> None:
    order: list[str] = []

    def side(name: str) -> Measured:
        order.append(name)
        return {"jobs/s": float(len(order))}

    case = Case("any", {"rota": lambda: side("rota"), "raw": lambda: side("raw")})
    values = take_rounds(case, 2)
    assert order == ["rota", "raw", "raw", "rota"]
    assert values == {"rota": {"jobs/s": [1.0, 4.0]}, "raw": {"jobs/s": [2.0, 3.0]}}


def test_a_side_that_fails_is_left_out_and_said(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail() -> Measured:
        raise RuntimeError("no jobs")

    case = Case("any", {"rota": fail, "raw": lambda: {"jobs/s": 1.0}})
    assert take_rounds(case, 1) == {"raw": {"jobs/s": [1.0]}}
    assert "any, rota: no jobs" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("goal", "is_met"),
    [
        (Goal("jobs/s", ">=", 80), True),
        (Goal("jobs/s", ">=", 81), False),
        (Goal("jobs/s", "<=", 80), True),
        (Goal("jobs/s", "<=", 79), False),
        (Goal("jobs/s", ">=", 0.84, of="raw"), True),
        (Goal("jobs/s", ">=", 0.85, of="raw"), False),
        (Goal("nothing", ">=", 0), False),
    ],
)
def test_a_goal_is_held_against_medians(goal: Goal, is_met: bool) -> None:
    assert goal.is_met(VALUES) == is_met


def test_a_table_shows_medians_spread_ratio_and_goal() -> None:
    goals = [{"goal": ">= 0.9 x raw", "metric": "jobs/s", "is_met": False}]
    case = {"label": "four", "values": VALUES, "goals": goals}
    assert table({"cases": [case]}).splitlines()[2].split("|")[1:-1] == [
        " four ",
        " jobs/s ",
        " 80.00 (10.00-90.00) ",
        " 95.00 (90.00-100) ",
        " 0.84       ",
        " >= 0.9 x raw: missed ",
    ]


def test_the_page_quotes_title_method_and_machine() -> None:
    facts = {
        "processor": "abacus",
        "cores": 2,
        "memory_gib": 1,
        "system": "none",
        "load": 0.5,
        "python": "3",
        "postgresql": "18",
        "psycopg": "3",
        "rota": "0",
        "settings": {"fsync": "on"},
    }
    result = {
        "title": "Count beads",
        "method": "By hand.",
        "scale": 1.0,
        "rounds": 3,
        "begun_at": "2026-01-01T00:00:00",
        "machine": facts,
        "cases": [],
    }
    text = page({"beads": result})
    assert "## Count beads\n\nBy hand.\n" in text
    assert "2 cores of abacus" in text
    assert "fsync on" in text


def test_a_rate_is_taken_between_fractions_of_the_jobs() -> None:
    marks = [(0, 0.0), (10, 1.0), (90, 2.0), (100, 4.0)]
    assert rate(marks, 0.0, 0.1) == 10
    assert rate(marks, 0.9, 1.0) == 5


def test_a_percentile_is_interpolated() -> None:
    assert percentile([float(n) for n in range(101)], 99) == 99


def test_a_drain_by_worker_processes_is_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("BENCH_DSN", os.environ["ROTA_TEST_DSN"])
    with lab(scale=1) as place:
        for side in ("rota", "raw"):
            assert drain_processes(place, side, 50, (), 1)["jobs/s"] > 0
