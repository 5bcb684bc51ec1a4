"""Random cron expressions, zones and instants, crowded around clock changes."""

from __future__ import annotations

import os
import random
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from zoneinfo import ZoneInfo

FIRST = datetime(1990, 1, 1, tzinfo=UTC)
LAST = datetime(2037, 12, 31, tzinfo=UTC)

# Half-hour and two-hour changes, changes at midnight, southern summers, negative summer
# time (Dublin), breaks for Ramadan (Casablanca), offsets of quarter hours, corrections
# of three hours and more (Apia, Kiritimati, Casey, Kwajalein).
ZONES = """
    Africa/Cairo Africa/Casablanca Africa/Lagos Africa/Tunis Africa/Windhoek
    America/Asuncion America/Caracas America/Chicago America/Denver America/Halifax
    America/Havana America/Los_Angeles America/Mexico_City America/Montevideo
    America/New_York America/Nuuk America/Phoenix America/Punta_Arenas
    America/Santiago America/Sao_Paulo America/St_Johns Antarctica/Casey
    Antarctica/Troll Asia/Amman Asia/Baku Asia/Beirut Asia/Colombo Asia/Dhaka
    Asia/Gaza Asia/Jerusalem Asia/Kathmandu Asia/Kolkata Asia/Pyongyang Asia/Tehran
    Asia/Tokyo Asia/Ulaanbaatar Atlantic/Azores Australia/Adelaide
    Australia/Lord_Howe Australia/Sydney Europe/Berlin Europe/Chisinau Europe/Dublin
    Europe/Istanbul Europe/Lisbon Europe/London Europe/Moscow Europe/Paris
    Pacific/Apia Pacific/Auckland Pacific/Chatham Pacific/Easter Pacific/Fiji
    Pacific/Kiritimati Pacific/Kwajalein Pacific/Norfolk Pacific/Tongatapu UTC
""".split()  # noqa: SIM905

_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()  # noqa: SIM905
_WEEKDAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]


@dataclass(frozen=True, slots=True)
class Triple:
    expression: str
    zone: str
    after: datetime


@dataclass(frozen=True, slots=True)
class Change:
    """A clock change: its first instant after, and by how much the clocks moved."""

    at: datetime
    jump: timedelta


def offset(zone: ZoneInfo, at: datetime) -> timedelta:
    found = at.astimezone(zone).utcoffset()
    assert found is not None
    return found


@cache
def changes(name: str) -> tuple[Change, ...]:
    """All changes of a zone from FIRST to LAST; none are closer than six days."""
    zone = ZoneInfo(name)
    found = []
    low = FIRST
    while low < LAST:
        high = low + timedelta(days=6)
        if offset(zone, low) != offset(zone, high):
            left, right = low, high
            while right - left > timedelta(seconds=1):
                middle = left + timedelta(
                    seconds=(right - left) // timedelta(seconds=2)
                )
                if offset(zone, middle) == offset(zone, low):
                    left = middle
                else:
                    right = middle
            found.append(Change(right, offset(zone, right) - offset(zone, left)))
        low = high
    return tuple(found)


def seed() -> int:
    """Return 20270314, or what ROTA_FUZZ_SEED says: a number, or random."""
    wanted = os.environ.get("ROTA_FUZZ_SEED", "20270314")
    return random.SystemRandom().getrandbits(32) if wanted == "random" else int(wanted)


class Generator:
    def __init__(self, number: int, zones: list[str]) -> None:
        self._random = random.Random(number)
        self._zones = zones

    def triple(self) -> Triple:
        pick = self._random
        zone = pick.choice(self._zones)
        near = changes(zone)
        if near and pick.random() < 0.7:
            change = pick.choice(near)
            after = change.at + timedelta(seconds=pick.randint(-40 * 3600, 6 * 3600))
            expression = self.expression(around=change, zone=zone)
        else:
            span = int((LAST - FIRST).total_seconds())
            after = FIRST + timedelta(seconds=pick.randrange(span))
            expression = self.expression()
        if pick.random() < 0.5:
            after = after.replace(second=0)
        elif pick.random() < 0.2:
            after += timedelta(microseconds=pick.randrange(1_000_000))
        return Triple(expression, zone, after)

    def expression(self, around: Change | None = None, zone: str = "UTC") -> str:
        pick = self._random
        hour = self._field(0, 23)
        if around is not None and pick.random() < 0.8:
            # An hour the change skips or repeats, or one beside it.
            local = around.at.astimezone(ZoneInfo(zone)) - around.jump
            hour = str((local.hour + pick.choice((-1, 0, 0, 0, 0, 1))) % 24)
            if pick.random() < 0.25:
                hour = f"{hour},{pick.randrange(24)}"
        minute = self._field(0, 59)
        if pick.random() < 0.3:
            minute = str(pick.choice((0, 0, 15, 30, 30, 45, 59)))
        day = month = weekday = "*"
        if pick.random() < 0.3:
            day = "L" if pick.random() < 0.2 else self._field(1, 31)
            if pick.random() < 0.15:
                day = f"L,{pick.randint(1, 28)}"
        if pick.random() < 0.2:
            month = (
                self._names(_MONTHS, 1) if pick.random() < 0.4 else self._field(1, 12)
            )
        if pick.random() < 0.4:
            weekday = self._weekday()
        return f"{minute} {hour} {day} {month} {weekday}"

    def _weekday(self) -> str:
        pick = self._random
        choice = pick.random()
        if choice < 0.15:
            return f"{pick.randint(0, 7)}#{pick.randint(1, 5)}"
        if choice < 0.25:
            return f"{pick.randint(0, 7)}L"
        if choice < 0.5:
            return self._names(_WEEKDAYS, 0)
        return self._field(0, 7)

    def _names(self, names: list[str], first: int) -> str:
        pick = self._random
        low = pick.randrange(len(names) - 1)
        name = names[low].title() if pick.random() < 0.5 else names[low].upper()
        if pick.random() < 0.5:
            return name
        high = pick.randrange(low + 1, len(names))
        if pick.random() < 0.3:
            return f"{name},{high + first}"
        step = f"/{pick.randint(1, 3)}" if pick.random() < 0.3 else ""
        return f"{name}-{names[high]}{step}"

    def _field(self, low: int, high: int) -> str:
        pick = self._random
        choice = pick.random()
        if choice < 0.2:
            return "*"
        if choice < 0.35:
            return f"*/{pick.randint(1, high)}"
        if choice < 0.5:
            first = pick.randint(low, high - 1)
            last = pick.randint(first + 1, high)
            step = f"/{pick.randint(1, last - first)}" if pick.random() < 0.5 else ""
            return f"{first}-{last}{step}"
        if choice < 0.57:
            return f"{pick.randint(low, high)}/{pick.randint(1, high)}"
        if choice < 0.7:
            return ",".join(
                str(pick.randint(low, high)) for _ in range(pick.randint(2, 4))
            )
        return str(pick.randint(low, high))
