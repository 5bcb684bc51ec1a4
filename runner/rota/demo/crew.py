"""The demo's worker processes: `rota worker`, started, killed and drained for real."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Self

from psycopg.conninfo import make_conninfo

from rota.demo.interrupts import interrupts
from rota.demo.work import GATE

if TYPE_CHECKING:
    from pathlib import Path

LEASE_SECONDS = 3
CONCURRENCY = 4


class Crew:
    """Worker processes on one database; none outlives the block."""

    def __init__(self, dsn: str, queue: str, folder: Path) -> None:
        self._dsn = dsn
        self._queue = queue
        self._folder = folder
        self._gate = folder / "gate"
        self._gate.touch()
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._started_count = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._processes.values():
            process.kill()
        for process in self._processes.values():
            process.wait()

    @property
    def names(self) -> list[str]:
        """The workers that should be at work, as worker_status names them."""
        return list(self._processes)

    def start(self) -> str:
        """Start one more worker; return its name."""
        self._started_count += 1
        name = f"demo-{self._started_count}"
        command = [
            *(sys.executable, "-m", "rota", "worker", "--app", "rota.demo.work:app"),
            *("--queues", self._queue, "--concurrency", str(CONCURRENCY)),
            *("--lease", str(LEASE_SECONDS), "--grace", "0.5", "--name", name),
            "--child",  # ends when this process is gone
        ]
        dsn = make_conninfo(self._dsn, application_name=name)
        with interrupts.held(), self.log(name).open("wb") as log:
            self._processes[name] = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                cwd=self._folder,
                env={**os.environ, "ROTA_DSN": dsn, GATE: str(self._gate)},
                start_new_session=True,  # Ctrl-C is for this process alone
            )
        return name

    def kill(self, name: str) -> None:
        """End a worker as a crash would."""
        process = self._processes.pop(name)
        process.kill()
        process.wait()

    def drain(self, name: str) -> int:
        """Tell a worker to end, and return its exit status."""
        process = self._processes[name]
        process.send_signal(signal.SIGTERM)
        code = process.wait(30)
        del self._processes[name]
        return code

    def open_gate(self) -> None:
        """Let the jobs that wait go on."""
        self._gate.unlink()

    def ended(self) -> list[str]:
        """Name the workers that have ended although nobody told them to."""
        return [
            n for n, process in self._processes.items() if process.poll() is not None
        ]

    def log(self, name: str) -> Path:
        """Return the file that a worker logs to."""
        return self._folder / f"{name}.log"
