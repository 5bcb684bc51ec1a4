"""The sides that are compared: rota, and the raw limit.

Raw is the least that hands each job to one worker: a table of an id, a payload and a
mark, one update that marks rows under `for update skip locked`, one delete. No queues,
priorities, retries, leases, history or results.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from rota import schema

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import psycopg

    from rota.text import Json

    Session = psycopg.Connection[Any]

# 100 bytes of JSON: a number that tells the job from the others, and padding.
_PAYLOAD = """
jsonb_build_object('seq', g, 'pad', repeat('x', 78 - length(g::text)))
"""


def payload(seq: int) -> Json:
    """Return the payload that the `fill` statements make for one job, from Python."""
    return {"seq": seq, "pad": "x" * (78 - len(str(seq)))}


class Loop(Protocol):
    """A worker without a runner: statements in a loop."""

    def step(self) -> int:
        """Take up to a batch of jobs and finish them; return how many."""


@dataclass(frozen=True, slots=True)
class Side:
    """How one side is asked for the same work.

    enqueue, announce: statements that add one job, %s its payload; the second also
        wakes who listens, which for rota is the same statement.
    bulk: adds jobs, %s their payloads as jsonb[].
    fill: adds jobs numbered from %s to %s.
    is_empty: whether there is no unfinished job.
    loop: makes a loop of a session and a batch size.
    worker: the command of a worker process, without the DSN; `tuned` for a queue that
        is never empty.
    gate, open_gate: statements between which no worker gets a job.
    present: how many worker processes stand there, or before the gate.
    channel: what those listen to who wait for jobs.
    """

    enqueue: str
    announce: str
    bulk: str
    fill: str
    is_empty: str
    channel: str
    gate: str
    open_gate: str
    present: str
    install: Callable[[Session], object]
    loop: Callable[[Session, int], Loop]
    worker: tuple[str, ...]
    tuned: tuple[str, ...]


# What a worker is told whose queue is never empty and whose handlers take no time.
TUNED = ("--concurrency", "500")

_RAW_TABLE = """
create table raw_job (
    id bigint generated always as identity primary key,
    payload jsonb not null,
    taken_at timestamptz
);
create index raw_job_free_idx on raw_job (id) where taken_at is null;
"""
RAW_TAKE = """
update raw_job set taken_at = now()
where id = any (array(
    select id from raw_job where taken_at is null order by id limit %s
    for update skip locked
))
returning id, payload
"""
RAW_FINISH = "delete from raw_job where id = any (%s)"
RAW_GATE = 1

_CLAIM = """
select id, execution, kind, payload
from rota.claim_jobs(worker => %s, queues => %s, max_jobs => %s)
"""
_COMPLETE = """
select count(*) from rota.complete_jobs(ids => %s, executions => %s)
"""
_EXCHANGE = """
select event, id, execution, kind, payload
from rota.exchange(
    worker => %s, queues => %s, max_jobs => %s, completed_ids => %s::bigint[],
    completed_executions => %s::integer[]
)
"""
_HEARTBEAT = "select count(*) from rota.heartbeat(worker => %s)"


def register(session: Session) -> int:
    """Return the id of a new worker."""
    row = session.execute("select rota.register_worker(name => 'bench')").fetchone()
    assert row is not None
    return int(row[0])


class RawLoop:
    """Mark a batch, delete a batch: two statements, two commits."""

    def __init__(self, session: Session, batch: int) -> None:
        self._session, self._batch = session, batch

    def step(self) -> int:
        """Take up to a batch of jobs and finish them; return how many."""
        jobs = self._session.execute(RAW_TAKE, [self._batch]).fetchall()
        self._session.execute(RAW_FINISH, [[job[0] for job in jobs]])
        return len(jobs)


class SplitLoop:
    """claim_jobs and complete_jobs; with `is_beating`, heartbeat each time too."""

    def __init__(
        self, session: Session, batch: int, *, is_beating: bool = False
    ) -> None:
        self._session, self._batch = session, batch
        self._is_beating = is_beating
        self._worker = register(session)

    def step(self) -> int:
        """Take up to a batch of jobs and finish them; return how many."""
        order = [self._worker, ["default"], self._batch]
        jobs = self._session.execute(_CLAIM, order).fetchall()
        tokens = [[job[0] for job in jobs], [job[1] for job in jobs]]
        self._session.execute(_COMPLETE, tokens)
        if self._is_beating:
            self._session.execute(_HEARTBEAT, [self._worker])
        return len(jobs)


class ExchangeLoop:
    """Exchange, which settles the batch of the step before while it claims the next."""

    def __init__(
        self, session: Session, batch: int, queues: Sequence[str] = ("default",)
    ) -> None:
        self._session, self._batch, self._queues = session, batch, list(queues)
        self._worker = register(session)
        self._tokens: list[list[int]] = [[], []]

    def step(self) -> int:
        """Take up to a batch of jobs, finish the last; return how many it took."""
        order = [self._worker, self._queues, self._batch, *self._tokens]
        rows = self._session.execute(_EXCHANGE, order).fetchall()
        jobs = [row for row in rows if row[0] == "claimed"]
        self._tokens = [[job[1] for job in jobs], [job[2] for job in jobs]]
        return len(jobs)


ROTA = Side(
    enqueue="select rota.enqueue(kind => 'noop', payload => %s)",
    announce="select rota.enqueue(kind => 'noop', payload => %s)",
    bulk="""
    select count(*)
    from rota.enqueue_jobs(kinds => '{noop}', payloads => %s::jsonb[])
    """,
    fill=f"""
    select count(*)
    from rota.enqueue_jobs(
        kinds => '{{noop}}',
        payloads => array(
            select {_PAYLOAD} from generate_series(%s::bigint, %s::bigint) as g
        )
    )
    """,
    is_empty="select not exists (select from rota.job)",
    channel="rota",
    gate="select rota.pause_queue('default')",
    open_gate="select rota.resume_queue('default')",
    present="select count(*) from rota.worker",
    install=schema.install,
    loop=SplitLoop,
    worker=(
        *(sys.executable, "-m", "rota", "worker", "--app", "bench.app:app"),
        *("--log-level", "warning"),
    ),
    tuned=TUNED,
)

RAW = Side(
    enqueue="insert into raw_job (payload) values (%s)",
    announce="""
    with added as (insert into raw_job (payload) values (%s))
    select pg_notify('raw', '')
    """,
    bulk="insert into raw_job (payload) select unnest(%s::jsonb[])",
    fill=f"""
    insert into raw_job (payload)
    select {_PAYLOAD} from generate_series(%s::bigint, %s::bigint) as g
    """,
    is_empty="select not exists (select from raw_job)",
    channel="raw",
    gate=f"select pg_advisory_lock({RAW_GATE})",
    open_gate=f"select pg_advisory_unlock({RAW_GATE})",
    present="""
    select count(*)
    from pg_locks as l
    join pg_database as d on d.oid = l.database
    where l.locktype = 'advisory'
    and l.mode = 'ShareLock'
    and d.datname = current_database()
    """,
    install=lambda session: session.execute(_RAW_TABLE),
    loop=RawLoop,
    worker=(sys.executable, "-m", "bench.raw_worker", "--batch", "100"),
    tuned=("--batch", "500"),
)

SIDES = {"rota": ROTA, "raw": RAW}
