"""Schedules that an application declares, brought to the database by its runners."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from rota import protocol

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import timedelta

    from rota.connections import Connection

Gap: TypeAlias = Literal["run_after", "skip"]
Repeat: TypeAlias = Literal["first", "both"]
Missed: TypeAlias = Literal["latest", "skip", "all"]
Overlap: TypeAlias = Literal["allow", "skip"]

logger = logging.getLogger("rota")


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """A definition, in the words of rota.create_schedule; `payload` is JSON text."""

    schedule: str
    expression: str
    kind: str
    payload: str
    timezone: str
    queue: str
    priority: int
    max_attempts: int | None
    retry_policy: str | None
    timeout: timedelta | None
    gap: Gap
    repeat: Repeat
    missed: Missed
    max_missed: int
    max_age: timedelta | None
    overlap: Overlap


async def declare(connection: Connection, schedules: Iterable[Schedule]) -> None:
    """Create or change what differs in the database; whatever else is there stays.

    A paused schedule stays paused. Raises InvalidSchedule and the other RotaErrors of
    rota.create_schedule.
    """
    for schedule in schedules:
        answer = await protocol.create_schedule(schedule).on_async(connection)
        logger.log(
            logging.DEBUG if answer == "unchanged" else logging.INFO,
            "schedule %s: %s",
            schedule.schedule,
            answer,
            extra={"schedule": schedule.schedule},
        )
