"""What a figure is: cases, each measured for several sides, several times over."""

from __future__ import annotations

import inspect
import math
import operator
import statistics
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import psycopg

if TYPE_CHECKING:
    from bench.lab import Lab

# One measurement: its values by metric, such as {"jobs/s": 50_000.0}.
Measured: TypeAlias = Mapping[str, float]
Measure: TypeAlias = Callable[[], Measured]
# Every round's values: side, metric, values.
Values: TypeAlias = dict[str, dict[str, list[float]]]
# What a measurement may die of without taking the other figures along.
FAILURES = (psycopg.Error, RuntimeError, OSError)

FIGURES: dict[str, Figure] = {}


@dataclass(frozen=True, slots=True)
class Goal:
    """What rota's median of a metric is to keep: at least, or at most, the bound.

    of: the side whose median it is divided by first; None: the plain value.
    """

    metric: str
    sense: str
    bound: float
    of: str | None = None

    def value(self, values: Values) -> float:
        """Return what is compared with the bound; NaN when there is nothing."""
        own = median(values, "rota", self.metric)
        return own / median(values, self.of, self.metric) if self.of else own

    def is_met(self, values: Values) -> bool:
        """Tell whether the medians keep to the bound."""
        compare = operator.ge if self.sense == ">=" else operator.le
        return bool(compare(self.value(values), self.bound))

    def __str__(self) -> str:
        """Say it as the tables do."""
        return f"{self.sense} {self.bound:g}{f' x {self.of}' if self.of else ''}"


@dataclass(frozen=True, slots=True)
class Case:
    """One line of a figure's table, or as many as its sides return metrics."""

    label: str
    sides: Mapping[str, Measure]
    goals: tuple[Goal, ...] = ()


@dataclass(frozen=True, slots=True)
class Figure:
    """A group of cases; title and method are the docstring of the function behind."""

    name: str
    title: str
    method: str
    cases: Callable[[Lab], Iterator[Case]]


def figure(
    cases: Callable[[Lab], Iterator[Case]],
) -> Callable[[Lab], Iterator[Case]]:
    """Register a function that yields the cases of a figure."""
    title, _, method = (inspect.getdoc(cases) or "").partition("\n\n")
    name = cases.__name__
    FIGURES[name] = Figure(name, title.rstrip("."), method, cases)
    return cases


def median(values: Values, side: str, metric: str) -> float:
    """Return a side's median of a metric; NaN when it has none."""
    return statistics.median(values.get(side, {}).get(metric) or [math.nan])


def take_rounds(case: Case, rounds: int) -> Values:
    """Measure every side once a round, in turn, the first one being another each round.

    Machines do not keep one speed, so what is to be compared is measured close
    together. A side that fails is left out of that round, with a word on stderr.
    """
    values: Values = {}
    sides = list(case.sides.items())
    for number in range(rounds):
        first = number % len(sides)
        for side, measure in sides[first:] + sides[:first]:
            try:
                measured = measure()
            except FAILURES as error:
                print(f"{case.label}, {side}: {error}", file=sys.stderr)
                continue
            for metric, value in measured.items():
                values.setdefault(side, {}).setdefault(metric, []).append(value)
    return values
