"""A server of our own that writes safely to disk, to be killed and started again."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, Self

from psycopg.conninfo import conninfo_to_dict

from rota.demo.server import ServerError, server
from waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


class Machine:
    """Keeps its data in a folder, and is found in the same place after each start."""

    def __init__(
        self,
        folder: Path,
        settings: Mapping[str, str] | None = None,
        *,
        place: Path | None = None,
    ) -> None:
        self._data = folder / "data"
        self._place = place or folder / "s"
        self._settings = settings
        self._running = contextlib.ExitStack()
        self.dsn = (
            f"host={self._place} user=postgres dbname=postgres connect_timeout=10"
        )

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._running.close()

    def start(self) -> None:
        """Start the server, once those that the last one left behind are gone."""

        def is_up() -> bool:
            with contextlib.suppress(ServerError):
                dsn = self._running.enter_context(
                    server(durable=True, directory=self._data, settings=self._settings)
                )
                self._place.unlink(missing_ok=True)
                self._place.symlink_to(str(conninfo_to_dict(dsn)["host"]))
                return True
            return False

        wait_until(is_up)

    def kill(self, number: int) -> None:
        """End the server by a signal, and wait until it is over."""
        pid = int((self._data / "postmaster.pid").read_text().split()[0])
        os.kill(pid, number)
        self.wait()

    @property
    def is_up(self) -> bool:
        """Whether the server has not ended."""
        return self._place.exists()

    def wait(self) -> None:
        """Wait until a server that is about to end is gone."""
        wait_until(lambda: not self.is_up)
        self._running.close()
