"""A steady stream of jobs of all sorts, and who of them was acknowledged."""

from __future__ import annotations

import random
import threading
import time
from collections import deque
from datetime import timedelta
from typing import Any

import psycopg

import rota

QUEUE = "soak"
GAP_SECONDS = 0.1
# Cancelled so long after they were enqueued: some wait then, some run, some are done.
CANCEL_SECONDS = 1.0
JOIN_SECONDS = 120.0
WEIGHTS = {
    "work": 62,
    "thread": 10,
    "flaky": 8,
    "hopeless": 1,
    "later": 3,
    "effect": 5,
    "effect_thread": 5,
    "delayed": 5,
    "long": 1,
}


class Load(threading.Thread):
    """Enqueues `rate` jobs a second until `end`.

    acknowledged: the ids the database has promised to run, kept outside of it.
    kept_count: enqueues whose idempotency key was in use.
    trouble: what ended the thread before its time.
    """

    def __init__(self, dsn: str, rate: int, seed: int = 1) -> None:
        super().__init__(daemon=True)
        self._dsn = dsn
        self._rate = rate
        self._dice = random.Random(seed)
        self._cancellable: deque[tuple[float, int]] = deque()
        self._is_over = threading.Event()
        self.acknowledged: list[int] = []
        self.cancelled_count = 0
        self.kept_count = 0
        self.trouble: Exception | None = None

    def end(self) -> None:
        """Enqueue no more; raises what went wrong meanwhile."""
        self._is_over.set()
        self.join(JOIN_SECONDS)
        if self.is_alive():
            raise TimeoutError("the load does not end")
        if self.trouble:
            raise self.trouble

    def run(self) -> None:
        try:
            with psycopg.connect(self._dsn, autocommit=True) as session:
                self._go_on(session)
        except Exception as error:  # noqa: BLE001 - told to whoever ends the thread
            self.trouble = error

    def _go_on(self, session: psycopg.Connection[Any]) -> None:
        begun = time.monotonic()
        sent = 0
        while not self._is_over.wait(GAP_SECONDS):
            owed = int((time.monotonic() - begun) * self._rate) - sent
            self._enqueue(session, owed)
            self._cancel(session)
            sent += owed

    def _enqueue(self, session: psycopg.Connection[Any], count: int) -> None:
        """Enqueue most in one call, some with keys, and one by itself."""
        if count < 1:
            return
        single, *others = [self._job() for _ in range(count)]
        job = rota.enqueue(
            session, single.kind, single.payload, queue=QUEUE, priority=single.priority
        )
        self.acknowledged.append(job)
        keyed = [job for job in others if job.idempotency_key]
        plain = [job for job in others if not job.idempotency_key]
        ttl = timedelta(seconds=5)
        for jobs in (plain, keyed):
            added = rota.enqueue_jobs(session, jobs, queue=QUEUE, key_ttl=ttl)
            self.acknowledged += [new.id for new in added if new.is_new]
            self.kept_count += sum(not new.is_new for new in added)
            now = time.monotonic()
            self._cancellable.extend(
                (now, new.id)
                for job, new in zip(jobs, added, strict=True)
                if new.is_new and (job.kind == "long" or self._dice.random() < 0.02)
            )

    def _job(self) -> rota.NewJob:
        dice = self._dice
        (kind,) = dice.choices([*WEIGHTS], [*WEIGHTS.values()])
        delay = None
        if kind == "delayed":
            kind, delay = "work", timedelta(seconds=dice.uniform(0.2, 5))
        key = f"key {dice.randrange(2000)}" if dice.random() < 0.1 else None
        return rota.NewJob(
            kind=kind,
            payload={"text": "x" * dice.randrange(200)},
            priority=dice.choice([-1, 0, 0, 0, 0, 5]),
            delay=delay,
            idempotency_key=key,
        )

    def _cancel(self, session: psycopg.Connection[Any]) -> None:
        ripe = time.monotonic() - CANCEL_SECONDS
        jobs = []
        while self._cancellable and self._cancellable[0][0] < ripe:
            jobs.append(self._cancellable.popleft()[1])
        self.cancelled_count += len(
            session.execute(
                "select c.id from rota.cancel_jobs(%s, 'soak') as c", [jobs]
            ).fetchall()
        )
