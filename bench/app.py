"""The handler that rota's workers run: it does nothing but note that it began."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import rota
from bench import starts

if TYPE_CHECKING:
    from rota import Job

app = rota.App()
record = starts.recorder()


@app.handler("noop")
async def noop(job: Job) -> None:
    """Note when it began."""
    given: Any = job.payload
    record(given["seq"])
