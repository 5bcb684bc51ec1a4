"""cron_next against croniter and cronsim; see _KNOWN for where they part and why.

ROTA_FUZZ_SEED=random takes a fresh seed, which the output names; pytest -s shows the
counts.
"""

from __future__ import annotations

import contextlib
import re
import signal
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import cronsim
import pytest
from croniter import CroniterBadDateError, croniter

from cron_model import Model
from cron_random import (
    FIRST,
    LAST,
    ZONES,
    Change,
    Generator,
    Triple,
    changes,
    offset,
    seed,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from conftest import Connect

Fires = list[datetime] | None  # None: refused, or no such date

_COUNT = 22_000
_STEPS = 3

_REFUSED_IS_NULL = """
create function pg_temp.fires(text, text, timestamptz, integer, text, text)
returns timestamptz[] language plpgsql as $$
begin
    return array(select f from rota.cron_next($1, $2, $3, $4, $5, $6) as f);
exception
    when sqlstate 'RT004' then return null;
end $$
"""

_BULK = """
select pg_temp.fires(t.expression, t.zone, t.after, %s, %s, %s)
from unnest(%s::text[], %s::text[], %s::timestamptz[])
    with ordinality as t (expression, zone, after, nth)
order by t.nth
"""

_OFFSETS = """
select (t.at at time zone t.zone) - (t.at at time zone 'UTC')
from unnest(%s::text[], %s::timestamptz[]) with ordinality as t (zone, at, nth)
order by t.nth
"""


def same_zones(connect: Connect) -> list[str]:
    """Names of the zones on which the server's tz data and Python's agree."""
    probes = [
        (zone, at)
        for zone in ZONES
        for at in (
            *(FIRST + timedelta(days=30 * number) for number in range(584)),
            *(change.at for change in changes(zone)),
            *(change.at - timedelta(seconds=1) for change in changes(zone)),
        )
    ]
    rows = connect().execute(
        _OFFSETS, ([zone for zone, _ in probes], [at for _, at in probes])
    )
    differing = {
        zone
        for (zone, at), (found,) in zip(probes, rows, strict=True)
        if offset(ZoneInfo(zone), at) != found
    }
    return [zone for zone in ZONES if zone not in differing]


def rota(connect: Connect, triples: list[Triple], gap: str, repeat: str) -> list[Fires]:
    session = connect()
    session.execute(_REFUSED_IS_NULL)
    rows = session.execute(
        _BULK,
        (
            _STEPS,
            gap,
            repeat,
            [triple.expression for triple in triples],
            [triple.zone for triple in triples],
            [triple.after for triple in triples],
        ),
    )
    return [fires for (fires,) in rows]


def by_croniter(triple: Triple) -> Fires:
    # It writes the last Friday as L5, and needs to be told the rule for stars.
    steps = croniter(
        re.sub(r"(\d)L$", r"L\1", triple.expression),
        triple.after.astimezone(ZoneInfo(triple.zone)),
        implement_cron_bug=True,
    )
    try:
        return [steps.get_next(datetime).astimezone(UTC) for _ in range(_STEPS)]
    except CroniterBadDateError:
        return None


class EndlessLoopError(Exception):
    """The oracle has used a second of processor time and is not coming back."""


@contextlib.contextmanager
def _cpu_limit() -> Iterator[None]:
    def give_up(_number: int, _frame: object) -> None:
        raise EndlessLoopError

    before = signal.signal(signal.SIGVTALRM, give_up)
    signal.setitimer(signal.ITIMER_VIRTUAL, 1)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def by_cronsim(triple: Triple) -> Fires:
    start = triple.after.astimezone(ZoneInfo(triple.zone))
    try:
        steps = cronsim.CronSim(triple.expression, start)
        with _cpu_limit():
            return [next(steps).astimezone(UTC) for _ in range(_STEPS)]
    except EndlessLoopError:
        return []
    except (cronsim.CronSimError, StopIteration):
        return None


@dataclass(frozen=True, slots=True)
class Case:
    triple: Triple
    ours: Fires
    theirs: Fires

    def field(self, number: int) -> str:
        return self.triple.expression.split()[number]

    def is_fixed(self) -> bool:
        return self.field(0)[0] != "*" and self.field(1)[0] != "*"

    def changes(self) -> list[Change]:
        """Clock changes from a day before the start to a day after the last fire."""
        last = max([*(self.ours or []), *(self.theirs or []), self.triple.after])
        return [
            change
            for change in changes(self.triple.zone)
            if self.triple.after - timedelta(days=1)
            < change.at
            < last + timedelta(days=1)
        ]


def off_the_hour(zone: str, change: Change) -> bool:
    local = change.at.astimezone(ZoneInfo(zone))
    return local.minute != 0 or change.jump % timedelta(hours=1) != timedelta()


@dataclass(frozen=True, slots=True)
class Difference:
    """An oracle's known departure: the rule that decides, and where it can show."""

    rule: str
    applies: Callable[[Case], bool]


_CORRECTION = Difference(
    "cron(8): a change of three hours or more is a correction, for which nothing is "
    "made up or held back; the oracle treats all changes alike",
    lambda case: any(
        abs(change.jump) >= timedelta(hours=3) for change in case.changes()
    ),
)
_WILDCARD_GAP = Difference(
    "cron(8): a job with a star in minute or hour follows the wall clock, so a time "
    "that does not exist is skipped; the oracle makes some up, or skips too much",
    lambda case: (
        not case.is_fixed()
        and any(change.jump > timedelta() for change in case.changes())
    ),
)
_REPEAT_OFF_THE_HOUR = Difference(
    "a repeated time fires as its policy says; where the clocks go back by half an "
    "hour, or to a time off the full hour, the oracle passes over minutes they show",
    lambda case: any(
        change.jump < timedelta() and off_the_hour(case.triple.zone, change)
        for change in case.changes()
    ),
)
_ENDLESS = Difference(
    "an answer comes back; near a change by half an hour the oracle loops for ever",
    lambda case: case.theirs == [],
)
_LOST_AT_MONTH_END = Difference(
    "with repeat = both the second pass fires too; where months are restricted the "
    "oracle loses it on the last days of a month",
    lambda case: (
        case.field(3)[0] != "*"
        and any(
            change.jump < timedelta() and change.at.day >= 28
            for change in case.changes()
        )
    ),
)
_BACKWARDS = Difference(
    "a fire is later than the start; started in the second pass of a repeated hour the "
    "oracle answers with an instant before it",
    lambda case: case.theirs is not None and case.theirs[0] <= case.triple.after,
)
_NTH_WITH_DAY = Difference(
    "crontab(5): either day field may match when both are restricted; the oracle wants "
    "n#k and nL to match together with the day of month",
    lambda case: (
        case.field(2)[0] != "*" and re.search("#|L$", case.field(4)) is not None
    ),
)
_STEP_TO_SEVEN = Difference(
    "n/step runs to the maximum of the field, which is 7, a Sunday, for the day of "
    "week; the oracle stops at 6",
    lambda case: re.match(r"\d/", case.field(4)) is not None,
)

_KNOWN: dict[Callable[[Triple], Fires], tuple[Difference, ...]] = {
    by_croniter: (
        _CORRECTION,
        _NTH_WITH_DAY,
        _STEP_TO_SEVEN,
        _WILDCARD_GAP,
        _REPEAT_OFF_THE_HOUR,
        _LOST_AT_MONTH_END,
    ),
    by_cronsim: (
        _ENDLESS,
        _CORRECTION,
        _BACKWARDS,
        _WILDCARD_GAP,
        _REPEAT_OFF_THE_HOUR,
    ),
}


@pytest.mark.parametrize(
    ("oracle", "repeat"),
    # croniter always runs both passes, which is our other policy.
    [(by_croniter, "both"), (by_cronsim, "first")],
)
@pytest.mark.timeout(900)
def test_fires_equal_the_oracle_or_differ_by_a_declared_rule(
    connect: Connect,
    oracle: Callable[[Triple], Fires],
    repeat: str,
) -> None:
    zones = same_zones(connect)
    assert len(zones) >= 40
    number = seed()
    generator = Generator(number, zones)
    triples = [generator.triple() for _ in range(_COUNT)]
    assert all(FIRST - timedelta(days=2) <= triple.after <= LAST for triple in triples)

    ours = rota(connect, triples, "run_after", repeat)

    seen: Counter[str] = Counter()
    for triple, fires in zip(triples, ours, strict=True):
        case = Case(triple, fires, oracle(triple))
        if case.ours == case.theirs:
            continue
        why = next(
            (known.rule for known in _KNOWN[oracle] if known.applies(case)), None
        )
        assert why is not None, (number, case)
        # The oracle is wrong here, so a third opinion has to say that we are right.
        assert fires is not None, (number, case)
        model = Model(triple.expression, triple.zone)
        assert fires == model.between(triple.after, fires[-1], "run_after", repeat), (
            number,
            case,
        )
        seen[why] += 1

    print(f"\n{oracle.__name__}: {_COUNT} triples, {len(zones)} zones, seed {number}")
    for rule, count in seen.most_common():
        print(f"{count:6} {rule}")
    # Without these the crowd around clock changes would not be one.
    assert seen[_CORRECTION.rule] and seen[_WILDCARD_GAP.rule]
