"""Runners behind a pooler that lends them a connection for one transaction each."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

import rota
from pooler import UnavailableError, pooler
from sessions import enqueue_many, rows, value
from waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conftest import Connect

SIZE = 4
COUNT = 2000


@pytest.fixture
def through(dsn: str) -> Iterator[str]:
    try:
        with pooler(dsn, SIZE) as made:
            yield made
    except UnavailableError as error:
        pytest.skip(str(error))


def test_twenty_runners_share_four_connections(
    through: str, connect: Connect, caplog: pytest.LogCaptureFixture
) -> None:
    session = connect()
    session.execute("create table effect (job bigint)")
    enqueue_many(session, COUNT)
    app = rota.App()

    @app.handler("work")
    async def work(job: rota.Job) -> object:
        if job.id % 10 == 0:
            async with job.transaction() as connection:
                await connection.execute("insert into effect values (%s)", [job.id])
        return job.payload

    def wait_completed() -> None:
        count = "select count(*) from rota.jobs where state = 'completed'"
        wait_until(lambda: value(session, count) == COUNT, 60)

    async def serve() -> None:
        workers = [rota.Worker(app, through, is_listening=False) for _ in range(20)]
        runs = [asyncio.create_task(worker.run()) for worker in workers]
        await asyncio.to_thread(wait_completed)
        for worker in workers:
            worker.drain()
        assert await asyncio.gather(*runs) == [0] * 20

    asyncio.run(serve())
    assert rows(
        session,
        "select e.outcome, count(*), count(distinct e.job_id)"
        " from rota.executions as e group by 1",
    ) == [("completed", COUNT, COUNT)]
    assert value(session, "select count(*) from effect") == COUNT // 10
    workers = "select count(*) from rota.worker_status where state = 'ended'"
    assert value(session, workers) == 20
    assert not [r for r in caplog.records if r.levelname in {"WARNING", "ERROR"}]
