"""The rules of crontab(5) and cron(8), minute by minute: slow, short, independent.

Nothing here is shared with the SQL: fields are sets, and every UTC minute is looked at.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

from cron_random import Change, changes

_NAMES = {
    name: number
    for names, first in (
        ("jan feb mar apr may jun jul aug sep oct nov dec", 1),
        ("sun mon tue wed thu fri sat", 0),
    )
    for number, name in enumerate(names.split(), first)
}
_MINUTE = timedelta(minutes=1)
_DAY = timedelta(days=1)
_CORRECTION = timedelta(hours=3)


def _number(text: str) -> int:
    return _NAMES[text] if text in _NAMES else int(text)


def _set(field: str, low: int, high: int) -> set[int]:
    values: set[int] = set()
    for item in field.split(","):
        span, _, step = item.partition("/")
        if span == "*":
            first, last = low, high
        elif "-" in span:
            first, last = map(_number, span.split("-"))
        else:
            first = _number(span)
            last = high if step else first
        values.update(range(first, last + 1, int(step or 1)))
    return values


class Model:
    def __init__(self, expression: str, zone: str) -> None:
        minute, hour, day, month, weekday = expression.lower().split()
        self._zone = ZoneInfo(zone)
        self._changes = changes(zone)
        self._minutes = _set(minute, 0, 59)
        self._hours = _set(hour, 0, 23)
        self._months = _set(month, 1, 12)
        self._days, self._weekdays = day, weekday
        self._both = day[0] == "*" or weekday[0] == "*"
        self.is_fixed = minute[0] != "*" and hour[0] != "*"

    def _day_of_month(self, day: date) -> bool:
        last = (day + _DAY).month != day.month
        return any(
            last if item == "l" else day.day in _set(item, 1, 31)
            for item in self._days.split(",")
        )

    def _day_of_week(self, day: date) -> bool:
        today = day.isoweekday() % 7
        for item in self._weekdays.split(","):
            name, _, nth = item.partition("#")
            if nth:
                found = _number(name) % 7 == today and (day.day + 6) // 7 == int(nth)
            elif item[-1] == "l":
                found = (
                    int(item[:-1]) % 7 == today and (day + 7 * _DAY).month != day.month
                )
            else:
                found = today in {value % 7 for value in _set(item, 0, 7)}
            if found:
                return True
        return False

    def _date(self, day: date) -> bool:
        if day.month not in self._months:
            return False
        both = self._day_of_month(day), self._day_of_week(day)
        return all(both) if self._both else any(both)

    def _names(self, local: datetime) -> bool:
        return (
            local.minute in self._minutes
            and local.hour in self._hours
            and self._date(local.date())
        )

    def _held_back(self, at: datetime, repeat: str) -> bool:
        """Second showing of a time, for a job that runs in the first pass only."""
        return (
            self.is_fixed
            and repeat == "first"
            and any(
                -_CORRECTION < change.jump < timedelta()
                and change.at <= at < change.at - change.jump
                for change in self._changes
            )
        )

    def _made_up(self, change: Change) -> bool:
        """Report whether the change skips a minute that a fixed-time job names."""
        if not self.is_fixed or not timedelta() < change.jump < _CORRECTION:
            return False
        after = change.at.astimezone(self._zone).replace(tzinfo=None)
        return any(
            self._names(after - number * _MINUTE)
            for number in range(1, change.jump // _MINUTE + 1)
        )

    def between(
        self, since: datetime, until: datetime, gap: str, repeat: str
    ) -> list[datetime]:
        """All fires after since, up to until."""
        fires = set()
        if gap == "run_after":
            fires = {
                change.at
                for change in self._changes
                if since < change.at <= until and self._made_up(change)
            }
        day = since.replace(hour=0, minute=0, second=0, microsecond=0)
        while day <= until:
            if any(self._date((day + number * _DAY).date()) for number in (-1, 0, 1)):
                for number in range(1440):
                    at = day + number * _MINUTE
                    if (
                        since < at <= until
                        and self._names(at.astimezone(self._zone))
                        and not self._held_back(at, repeat)
                    ):
                        fires.add(at)
            day += _DAY
        return sorted(fires)


__all__ = ["UTC", "Model"]
