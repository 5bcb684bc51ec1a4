"""Rows as several sessions see them: committed ones, and what open transactions hold.

The little of a database that the model needs. A row that a session has written is
locked until its transaction ends; the others go on seeing the committed version.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator

Key: TypeAlias = tuple[Any, ...]  # what it is, then its name
Overlay: TypeAlias = dict[Key, Any]

LOCK_NOT_AVAILABLE = "55P03"
_LOCKS = ("hold", "strong")  # rows that say nothing but that somebody has locked


class Refused(Exception):
    """The verb raises this SQLSTATE and changes nothing."""

    def __init__(self, code: str, why: str) -> None:
        super().__init__(code, why)
        self.code = code


class Store:
    """A deleted row is None; overlays are the savepoints of an open transaction."""

    def __init__(self) -> None:
        self.committed: Overlay = {}
        self.open: dict[int, list[Overlay]] = {}

    def get(self, session: int, *key: Any) -> Any:
        for overlay in reversed(self.open.get(session, [])):
            if key in overlay:
                return overlay[key]
        return self.committed.get(key)

    def all(self, session: int, table: str) -> list[Any]:
        """Return the visible rows of a table in the order of their keys."""
        keys = {key for key in self.committed if key[0] == table}
        for overlay in self.open.get(session, []):
            keys |= {key for key in overlay if key[0] == table}
        rows = (self.get(session, *key) for key in sorted(keys))
        return [row for row in rows if row is not None]

    def is_locked(self, session: int, *key: Any) -> bool:
        """Say whether another session's open transaction has written the row."""
        return any(
            key in overlay
            for other, overlays in self.open.items()
            for overlay in overlays
            if other != session
        )

    def wait_for(self, session: int, *key: Any) -> None:
        if self.is_locked(session, *key):
            raise Refused(LOCK_NOT_AVAILABLE, f"{key} is locked by another session")

    def mark(self, session: int, *key: Any) -> None:
        """Note a lock that several may share, or that is stronger than a change's."""
        self.open[session][-1][key] = True

    def put(self, session: int, value: Any, *key: Any) -> None:
        """Write a row, which locks it; None deletes it."""
        self.wait_for(session, *key)
        self.open[session][-1][key] = value

    def lock(self, session: int, *key: Any) -> None:
        self.put(session, self.get(session, *key), *key)

    @contextmanager
    def statement(self, session: int) -> Iterator[None]:
        """Undo what the block wrote when it raises; else it is the transaction's."""
        is_alone = session not in self.open
        if is_alone:
            self.begin(session)
        self.savepoint(session)
        try:
            yield
        except BaseException:
            self.rollback_to_savepoint(session)
            raise
        else:
            self.release_savepoint(session)
        finally:
            if is_alone:
                self.commit(session)

    def begin(self, session: int) -> None:
        self.open[session] = [{}]

    def savepoint(self, session: int) -> None:
        self.open[session].append({})

    def release_savepoint(self, session: int) -> None:
        latest = self.open[session].pop()
        self.open[session][-1].update(latest)

    def rollback_to_savepoint(self, session: int) -> None:
        self.open[session].pop()

    def commit(self, session: int) -> None:
        for overlay in self.open.pop(session):
            for key, value in overlay.items():
                if key[0] not in _LOCKS:
                    self.committed[key] = value

    def rollback(self, session: int) -> None:
        del self.open[session]
