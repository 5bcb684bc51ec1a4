"""The handlers of the soak: each ends in a way of its own."""

from __future__ import annotations

import asyncio
import time
from datetime import timedelta

import rota

app = rota.App()
app.schedule("often", "@every 5 seconds", "tick", queue="soak")
app.schedule("minutely", "* * * * *", "tick", queue="soak")


@app.handler("work")
async def work(job: rota.Job) -> object:
    await asyncio.sleep(0.005)
    return job.payload


@app.handler("thread")
def thread(job: rota.Job) -> int:
    job.cancelled.wait(0.005)
    return time.monotonic_ns()


@app.handler("flaky")
async def flaky(job: rota.Job) -> str:
    """Fail two executions of three, so some use up their attempts."""
    if (job.id + job.execution) % 3:
        raise RuntimeError("asked to fail")
    return "at last"


@app.handler("hopeless")
def hopeless(_job: rota.Job) -> None:
    raise rota.Discard("no use")


@app.handler("later")
async def later(job: rota.Job) -> None:
    if job.execution == 1:
        raise rota.Snooze(timedelta(seconds=1))


@app.handler("effect")
async def effect(job: rota.Job) -> None:
    async with job.transaction() as connection:
        await connection.execute("insert into effect values (%s)", [job.id])


@app.handler("effect_thread")
def effect_thread(job: rota.Job) -> None:
    with job.transaction() as connection:
        connection.execute("insert into effect values (%s)", [job.id])


@app.handler("long")
async def long(_job: rota.Job) -> None:
    """Run until cancelled, or for longer than it would take to be."""
    await asyncio.sleep(4)


@app.handler("tick")
async def tick(_job: rota.Job) -> None:
    pass
