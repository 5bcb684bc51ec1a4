"""Worker processes: started, waited for, and ended."""

from __future__ import annotations

import contextlib
import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from bench.lab import wait_for
from bench.sides import SIDES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bench.lab import Database
    from bench.starts import Starts

CHECKOUT = Path(__file__).resolve().parents[1]
STOP_SECONDS = 40.0


@contextlib.contextmanager
def workers(
    database: Database,
    side: str,
    starts: Starts,
    options: Sequence[str] = (),
    count: int = 1,
) -> Iterator[None]:
    """Run worker processes for the length of the block, and wait for them to stand."""
    own = SIDES[side]
    command = [*own.worker, "--dsn", database.dsn, *options]
    copies = count
    if side == "rota" and count > 1:
        command += ["--processes", str(count)]
        copies = 1
    environment = {**os.environ, **starts.environment}
    running = [
        subprocess.Popen(command, cwd=CHECKOUT, env=environment) for _ in range(copies)
    ]

    def are_present() -> bool:
        if any(process.poll() is not None for process in running):
            raise RuntimeError(f"a worker of {side} has ended")
        return bool(database.value(own.present) >= count)

    try:
        wait_for(are_present, f"workers of {side}", gap=0.01)
        yield
    finally:
        for process in running:
            process.terminate()
        for process in running:
            try:
                process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
