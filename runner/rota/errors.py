"""What can go wrong in a call of the schema, keyed by SQLSTATE."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import psycopg

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


class RotaError(Exception):
    """A refusal by rota.

    `sqlstate`, `detail` and `hint` are the database's, None for a refusal that was
    decided before a statement was sent. The database's own error is the cause.
    """

    def __init__(
        self,
        message: str,
        *,
        sqlstate: str | None = None,
        detail: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.sqlstate = sqlstate
        self.detail = detail
        self.hint = hint

    def __str__(self) -> str:
        return ": ".join(part for part in (self.message, self.detail) if part)


class LeaseLost(RotaError):
    """The job was handed to another execution: what this one did is not recorded."""


class JobNotFound(RotaError):
    """There is no such job."""


class QueueNotFound(RotaError):
    """There is no such queue."""


class InvalidSchedule(RotaError):
    """A cron expression or a time zone is invalid; `detail` names the field."""


class WrongState(RotaError):
    """The job is in a state that does not allow this."""


class VersionMismatch(RotaError):
    """The installed schema does not fit what asks."""


class WorkerLost(RotaError):
    """The worker was silent for longer than its lease, or never existed."""


class TooLarge(RotaError):
    """A payload, key or name is over its limit."""


class DuplicateKey(RotaError):
    """The idempotency key is in use, and `on_duplicate` is reject."""


class InvalidArgument(RotaError):
    """An argument is refused."""


class RetryPolicyNotFound(RotaError):
    """There is no such retry policy."""


class AlreadyExists(RotaError):
    """There is one of this name already."""


BY_SQLSTATE: Mapping[str, type[RotaError]] = {
    "RT001": LeaseLost,
    "RT002": JobNotFound,
    "RT003": QueueNotFound,
    "RT004": InvalidSchedule,
    "RT005": WrongState,
    "RT006": VersionMismatch,
    "RT007": WorkerLost,
    "RT008": TooLarge,
    "RT009": DuplicateKey,
    "22023": InvalidArgument,
    "42704": RetryPolicyNotFound,
    "42710": AlreadyExists,
}


@contextmanager
def translated() -> Iterator[None]:
    """Raise rota's error for those of the database that have one, cause chained."""
    try:
        yield
    except psycopg.Error as error:
        kind = BY_SQLSTATE.get(error.sqlstate or "")
        if kind is None:
            raise
        raise kind(
            error.diag.message_primary or str(error),
            sqlstate=error.sqlstate,
            detail=error.diag.message_detail,
            hint=error.diag.message_hint,
        ) from error
