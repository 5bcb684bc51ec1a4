"""The handlers of the fault tests. Each leaves its trail outside of rota.

That a handler began, and that it had its effect, is appended to a file of the process
(`FAULTS_LEDGER` names the folder), which a dying process or server takes nothing from.
Handlers whose effect belongs to the completion write it to the table `ledger.posting`
in `job.transaction()`. The result of each is its execution.
"""

from __future__ import annotations

import asyncio
import os
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import rota

app = rota.App()
_folder = Path(os.environ["FAULTS_LEDGER"])
_ledger = os.open(
    _folder / f"{os.getpid()}.ledger", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600
)
_POST = "insert into ledger.posting (job_id, execution) values (%s, %s)"


def _note(word: str, job: rota.Job) -> None:
    os.write(_ledger, f"{word} {job.id} {job.execution}\n".encode())


def _seconds(job: rota.Job) -> float:
    payload: Any = job.payload
    return float(payload["seconds"])


@app.handler("plain")
async def plain(job: rota.Job) -> int:
    _note("began", job)
    await asyncio.sleep(_seconds(job))
    _note("effect", job)
    return job.execution


@app.handler("thread")
def thread(job: rota.Job) -> int:
    _note("began", job)
    time.sleep(_seconds(job))
    _note("effect", job)
    return job.execution


@app.handler("flaky")
async def flaky(job: rota.Job) -> int:
    """Fail in the first attempt that is charged."""
    _note("began", job)
    await asyncio.sleep(_seconds(job) / 2)
    if job.attempt == 1:
        raise rota.Retry(timedelta(0), "the first attempt fails")
    _note("effect", job)
    return job.execution


@app.handler("posted")
def posted(job: rota.Job) -> None:
    _note("began", job)
    with job.transaction() as connection:
        connection.execute(_POST, [job.id, job.execution])
        job.result = job.execution
        time.sleep(_seconds(job))


@app.handler("posted_async")
async def posted_async(job: rota.Job) -> None:
    _note("began", job)
    async with job.transaction() as connection:
        await connection.execute(_POST, [job.id, job.execution])
        job.result = job.execution
        await asyncio.sleep(_seconds(job))


@app.handler("stuck")
def stuck(job: rota.Job) -> None:
    """Hang in a thread, for ever."""
    _note("began", job)
    while True:
        time.sleep(60)


@app.handler("stuck_async")
async def stuck_async(job: rota.Job) -> None:
    """Hang in a coroutine, whoever cancels it."""
    _note("began", job)
    while True:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            continue


@app.handler("blocking")
async def blocking(job: rota.Job) -> int:
    """Keep the event loop from everything else, the first time."""
    _note("began", job)
    if job.execution == 1:
        time.sleep(_seconds(job))  # noqa: ASYNC251 - the mistake it is here for
    _note("effect", job)
    return job.execution
