"""Measure figures and print their tables: `python -m bench --help`."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench import cost, drain, enqueue, horizon, latency, machine, switched_off
from bench.figures import FIGURES, take_rounds
from bench.lab import lab
from bench.report import table

if TYPE_CHECKING:
    from bench.figures import Figure
    from bench.lab import Lab

# Importing them has registered their figures.
GROUPS = (drain, enqueue, latency, horizon, cost, switched_off)


@dataclass(frozen=True, slots=True)
class Options:
    """What was asked for."""

    figures: list[str]
    scale: float
    rounds: int
    out: Path


def main() -> None:
    """Measure what was asked for; each figure is stored as soon as it is there."""
    options = _options()
    results = json.loads(options.out.read_text()) if options.out.exists() else {}
    options.out.parent.mkdir(parents=True, exist_ok=True)
    with lab(scale=options.scale) as place:
        print(machine.summary(place.dsn), flush=True)
        for name in options.figures:
            result = _measure(place, FIGURES[name], options)
            results[name] = result
            print(f"\n{result['title']}\n{table(result)}", flush=True)
            options.out.write_text(json.dumps(results, indent=1))


def _measure(place: Lab, figure: Figure, options: Options) -> dict[str, Any]:
    begun = datetime.now(UTC)
    cases = []
    for case in figure.cases(place):
        print(f"{figure.name}: {case.label}", file=sys.stderr, flush=True)
        values = take_rounds(case, options.rounds)
        goals = [
            {"goal": str(goal), "metric": goal.metric, "is_met": goal.is_met(values)}
            for goal in case.goals
        ]
        cases.append({"label": case.label, "values": values, "goals": goals})
    return {
        "title": figure.title,
        "method": figure.method,
        "scale": options.scale,
        "rounds": options.rounds,
        "begun_at": begun.isoformat(timespec="seconds"),
        "seconds": round((datetime.now(UTC) - begun).total_seconds()),
        "machine": asdict(machine.facts(place.dsn)),
        "cases": cases,
    }


def _options() -> Options:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument(
        "figures", nargs="*", metavar="FIGURE", help=f"of {', '.join(FIGURES)}"
    )
    parser.add_argument(
        "--full", action="store_true", help="as docs/performance.md: scale 1, 3 rounds"
    )
    parser.add_argument(
        "--scale", type=float, help="how many jobs for each of --full, default 0.1"
    )
    parser.add_argument("--rounds", type=int, help="default 1")
    parser.add_argument("--out", type=Path, default=Path("build/bench.json"))
    given = parser.parse_args()
    if unknown := set(given.figures) - set(FIGURES):
        parser.error(f"no such figure: {', '.join(sorted(unknown))}")
    rounds = given.rounds or (3 if given.full else 1)
    scale = given.scale or (1.0 if given.full else 0.1)
    return Options(given.figures or list(FIGURES), scale, rounds, given.out)


if __name__ == "__main__":
    main()
