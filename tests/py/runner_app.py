"""The handlers that the runners of the tests run, told what to do by the payload.

A handler that waits says in the folder `payload["folder"]` that it has begun
(`begun-ID-EXECUTION`), and waits there for a file `go`.
"""

from __future__ import annotations

import asyncio
import os
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import rota
from rota import worker

app = rota.App()
# However slow the machine is, it can still say what became of its jobs.
worker.LAST_WORDS_SECONDS = 600.0


def _begin(job: rota.Job) -> Path:
    payload: Any = job.payload
    folder = Path(payload["folder"])
    (folder / f"begun-{job.id}-{job.execution}").touch()
    return folder / "go"


@app.handler("echo")
async def echo(job: rota.Job) -> object:
    return job.payload


@app.handler("pid")
def pid(_job: rota.Job) -> int:
    return os.getpid()


@app.handler("hold")
async def hold(job: rota.Job) -> str:
    go = _begin(job)
    while not go.exists():  # noqa: ASYNC110 - no event crosses processes
        await asyncio.sleep(0.02)
    return f"held by {os.getpid()}"


@app.handler("hold_deaf")
async def hold_deaf(job: rota.Job) -> str:
    """Wait, whoever cancels."""
    go = _begin(job)
    while not go.exists():
        try:
            await asyncio.sleep(0.02)
        except asyncio.CancelledError:
            (go.parent / f"cancelled-{job.id}").touch()
    return "finished all the same"


@app.handler("hold_thread")
def hold_thread(job: rota.Job) -> str:
    """Wait, and end when told to."""
    go = _begin(job)
    while not go.exists():
        if job.cancelled.wait(0.02):
            raise InterruptedError("told to end")
    return f"held by {os.getpid()}"


@app.handler("hold_deaf_thread")
def hold_deaf_thread(job: rota.Job) -> str:
    go = _begin(job)
    while not go.exists():
        time.sleep(0.02)
    (go.parent / f"ended-{job.id}-{job.execution}").touch()
    return "too late"


@app.handler("die")
def die(job: rota.Job) -> None:
    _begin(job)
    os._exit(137)


@app.handler("fail")
def fail(_job: rota.Job) -> None:
    raise rota.Retry(timedelta(0), "asked to fail")


def _note(job: rota.Job) -> None:
    """Write the token into a file that all share."""
    payload: Any = job.payload
    with (Path(payload["folder"]) / "notes").open("a") as notes:
        notes.write(f"{job.id} {job.execution}\n")


@app.handler("note")
def note(job: rota.Job) -> None:
    _note(job)


@app.handler("effect")
def effect(job: rota.Job) -> None:
    """Write the token there, and into a table together with the completion."""
    _note(job)
    with job.transaction() as connection:
        connection.execute("insert into effect values (%s)", [job.id])
