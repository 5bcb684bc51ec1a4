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
    """A deleted row is None; overlays are the savepoints of an open transaction.

    Everything is done as the session that `session` names.
    """

    def __init__(self) -> None:
        self.session = 0
        self.committed: Overlay = {}
        self.open: dict[int, list[Overlay]] = {}

    @property
    def overlays(self) -> list[Overlay]:
        return self.open.get(self.session, [])

    def get(self, *key: Any) -> Any:
        for overlay in reversed(self.overlays):
            if key in overlay:
                return overlay[key]
        return self.committed.get(key)

    def all(self, table: str) -> list[Any]:
        """Return the visible rows of a table in the order of their keys."""
        layers = [self.committed, *self.overlays]
        keys = {key for layer in layers for key in layer if key[0] == table}
        rows = (self.get(*key) for key in sorted(keys))
        return [row for row in rows if row is not None]

    def is_locked(self, *key: Any) -> bool:
        """Say whether another session's open transaction has written the row."""
        return any(
            key in overlay
            for other, overlays in self.open.items()
            for overlay in overlays
            if other != self.session
        )

    def wait_for(self, *key: Any) -> None:
        if self.is_locked(*key):
            raise Refused(LOCK_NOT_AVAILABLE, f"{key} is locked by another session")

    def mark(self, *key: Any) -> None:
        """Note a lock that several may share, or that is stronger than a change's."""
        self.overlays[-1][key] = True

    def put(self, value: Any, *key: Any) -> None:
        """Write a row, which locks it; None deletes it."""
        self.wait_for(*key)
        self.overlays[-1][key] = value

    def lock(self, *key: Any) -> None:
        self.put(self.get(*key), *key)

    @contextmanager
    def statement(self) -> Iterator[None]:
        """Undo what the block wrote when it raises; else it is the transaction's."""
        is_alone = not self.overlays
        if is_alone:
            self.begin()
        self.savepoint()
        try:
            yield
        except BaseException:
            self.rollback_to_savepoint()
            raise
        else:
            self.release_savepoint()
        finally:
            if is_alone:
                self.commit()

    def begin(self) -> None:
        self.open[self.session] = [{}]

    def savepoint(self) -> None:
        self.overlays.append({})

    def release_savepoint(self) -> None:
        latest = self.overlays.pop()
        self.overlays[-1].update(latest)

    def rollback_to_savepoint(self) -> None:
        self.overlays.pop()

    def commit(self) -> None:
        for overlay in self.open.pop(self.session):
            for key, value in overlay.items():
                if key[0] not in _LOCKS:
                    self.committed[key] = value

    def rollback(self) -> None:
        del self.open[self.session]
