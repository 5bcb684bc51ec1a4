"""Every statement rota sends, and nothing else: verbs called in named notation.

A function here returns a `Call`, to be run on either kind of connection. What it does
and what its arguments mean is the comment on the SQL function of the same name.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Generic, Literal, LiteralString, TypeAlias, TypeVar

from psycopg.rows import TupleRow, tuple_row

from rota.errors import translated
from rota.records import (
    ClaimedJob,
    Completed,
    EnqueuedJob,
    Exchange,
    JobRef,
    Maintained,
    Returned,
    SettledJob,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime, timedelta

    import psycopg

    from rota.schedules import Schedule

T = TypeVar("T")
Connection: TypeAlias = "psycopg.Connection[object]"
AsyncConnection: TypeAlias = "psycopg.AsyncConnection[object]"
Table: TypeAlias = tuple[Sequence[str], Sequence[TupleRow]]
OnDuplicate: TypeAlias = Literal["keep", "replace", "reject"]


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """One statement with its arguments and how to read the answer.

    Answers come in binary: as text, some depend on settings of the role or database.
    """

    sql: LiteralString
    arguments: Mapping[str, object]
    read: Callable[[list[TupleRow]], T]

    def on(self, connection: Connection) -> T:
        """Run inside the connection's transaction; raises RotaError."""
        with translated(), connection.cursor(row_factory=tuple_row) as cursor:
            cursor.execute(self.sql, self.arguments, binary=True)
            return self.read(cursor.fetchall())

    async def on_async(self, connection: AsyncConnection) -> T:
        """Run inside the connection's transaction; raises RotaError."""
        return await (await self.ask(connection)).read()

    async def ask(self, connection: AsyncConnection) -> Answer[T]:
        """Run, and leave the answer to be read later; raises RotaError."""
        cursor = connection.cursor(row_factory=tuple_row)
        with translated():
            await cursor.execute(self.sql, self.arguments, binary=True)
        return Answer(self, cursor)


class Answer(Generic[T]):
    """What a statement was answered, here but not read: that takes its time."""

    def __init__(self, call: Call[T], cursor: psycopg.AsyncCursor[TupleRow]) -> None:
        self._call = call
        self._cursor = cursor

    @property
    def row_count(self) -> int:
        """How many rows it has."""
        return self._cursor.rowcount

    async def read(self) -> T:
        """Read it, without waiting for anything."""
        return self._call.read(await self._cursor.fetchall())


def _number(rows: list[TupleRow]) -> int:
    return int(rows[0][0])


def _nothing(_rows: list[TupleRow]) -> None:
    """Read the answer of a verb that returns void."""


def enqueue(
    *,
    kind: str,
    payload: str,
    queue: str,
    priority: int,
    run_at: datetime | None,
    delay: timedelta | None,
    idempotency_key: str | None,
    on_duplicate: OnDuplicate,
    key_ttl: timedelta | None,
    max_attempts: int | None,
    retry_policy: str | None,
    timeout: timedelta | None,
) -> Call[int]:
    """Call rota.enqueue; `payload` is JSON text."""
    arguments = dict(locals())
    return Call(
        """
        select rota.enqueue(
            kind => %(kind)s,
            payload => %(payload)s::jsonb,
            queue => %(queue)s,
            priority => %(priority)s,
            run_at => %(run_at)s,
            delay => %(delay)s,
            idempotency_key => %(idempotency_key)s,
            on_duplicate => %(on_duplicate)s,
            key_ttl => %(key_ttl)s,
            max_attempts => %(max_attempts)s,
            retry_policy => %(retry_policy)s,
            timeout => %(timeout)s
        )
        """,
        arguments,
        _number,
    )


def enqueue_jobs(
    *,
    kinds: Sequence[str],
    payloads: Sequence[str],
    queue: str,
    priorities: Sequence[int] | None,
    run_ats: Sequence[datetime | None] | None,
    delays: Sequence[timedelta | None] | None,
    idempotency_keys: Sequence[str | None] | None,
    on_duplicate: OnDuplicate,
    key_ttl: timedelta | None,
    max_attempts: int | None,
    retry_policy: str | None,
    timeout: timedelta | None,
) -> Call[list[EnqueuedJob]]:
    """Call rota.enqueue_jobs; `payloads` are JSON texts."""
    arguments = dict(locals())
    return Call(
        """
        select e.id, e.is_new
        from rota.enqueue_jobs(
            kinds => %(kinds)s::text[],
            payloads => %(payloads)s::text[]::jsonb[],
            queue => %(queue)s,
            priorities => %(priorities)s::integer[],
            run_ats => %(run_ats)s::timestamptz[],
            delays => %(delays)s::interval[],
            idempotency_keys => %(idempotency_keys)s::text[],
            on_duplicate => %(on_duplicate)s,
            key_ttl => %(key_ttl)s,
            max_attempts => %(max_attempts)s,
            retry_policy => %(retry_policy)s,
            timeout => %(timeout)s
        ) as e
        """,
        arguments,
        lambda rows: [EnqueuedJob(*row) for row in rows],
    )


def create_schedule(schedule: Schedule) -> Call[str]:
    """Call rota.create_schedule, to replace what differs."""
    return Call(
        """
        select rota.create_schedule(
            schedule => %(schedule)s,
            expression => %(expression)s,
            kind => %(kind)s,
            payload => %(payload)s::jsonb,
            timezone => %(timezone)s,
            queue => %(queue)s,
            priority => %(priority)s,
            max_attempts => %(max_attempts)s,
            retry_policy => %(retry_policy)s,
            timeout => %(timeout)s,
            gap => %(gap)s,
            repeat => %(repeat)s,
            missed => %(missed)s,
            max_missed => %(max_missed)s,
            max_age => %(max_age)s,
            overlap => %(overlap)s,
            replace => true
        )
        """,
        asdict(schedule),
        lambda rows: str(rows[0][0]),
    )


def register_worker(*, name: str, lease: timedelta, version: str) -> Call[int]:
    """Call rota.register_worker."""
    return Call(
        "select rota.register_worker("
        "name => %(name)s, lease => %(lease)s, version => %(version)s)",
        {"name": name, "lease": lease, "version": version},
        _number,
    )


def deregister_worker(*, worker: int) -> Call[int]:
    """Call rota.deregister_worker."""
    return Call(
        "select rota.deregister_worker(worker => %(worker)s)",
        {"worker": worker},
        _number,
    )


def release_stray_jobs(
    *, worker: int, known: Sequence[JobRef | Completed | Returned]
) -> Call[list[SettledJob]]:
    """Call rota.release_stray_jobs."""
    return Call(
        """
        select s.id, s.state, s.run_at
        from rota.release_stray_jobs(
            worker => %(worker)s,
            ids => %(ids)s::bigint[],
            executions => %(executions)s::integer[]
        ) as s
        """,
        {
            "worker": worker,
            "ids": [k.id for k in known],
            "executions": [k.execution for k in known],
        },
        lambda rows: [SettledJob(*row) for row in rows],
    )


def exchange(
    *,
    worker: int,
    queues: str,
    max_jobs: int,
    settlements: Sequence[Completed | Returned],
) -> Call[Exchange]:
    """Call rota.exchange; `queues` as `text_array` makes it."""
    completed = [s for s in settlements if isinstance(s, Completed)]
    returned = [asdict(s) for s in settlements if isinstance(s, Returned)]
    results = [s.result for s in completed]
    return Call(
        # Instants as numbers, which are turned into what Python knows only if a handler
        # asks. Of the next scheduled job only how far off it is: by the database's
        # clock, not by ours, and in a type that does not end in the year 9999.
        """
        select
            e.event, e.id, e.execution, e.attempt, e.max_attempts, e.queue, e.priority,
            e.kind, e.payload::text, e.timeout,
            date_part(
                'epoch',
                case when e.event = 'claimed' then e.run_at end
            ),
            date_part('epoch', e.created_at),
            case
                when e.event = 'next'
                    then date_part('epoch', e.run_at - clock_timestamp())
            end
        from rota.exchange(
            worker => %(worker)s,
            queues => %(queues)s::text[],
            max_jobs => %(max_jobs)s,
            completed_ids => %(completed_ids)s::bigint[],
            completed_executions => %(completed_executions)s::integer[],
            completed_results => %(completed_results)s::text[]::jsonb[],
            returned => %(returned)s::jsonb
        ) as e
        """,
        {
            "worker": worker,
            "queues": queues,
            "max_jobs": max_jobs,
            "completed_ids": _integers([s.id for s in completed]),
            "completed_executions": _integers([s.execution for s in completed]),
            "completed_results": results if any(results) else None,
            "returned": json.dumps(returned) if returned else None,
        },
        _read_exchange,
    )


def text_array(texts: Sequence[str]) -> str:
    """Return an array as PostgreSQL reads it, made once for many calls."""
    quoted = (t.replace("\\", "\\\\").replace('"', '\\"') for t in texts)
    return "{" + ",".join(f'"{text}"' for text in quoted) + "}"


def _integers(numbers: list[int]) -> str | None:
    """Return an array as PostgreSQL reads it, None if empty; psycopg takes longer."""
    return f"{{{str(numbers)[1:-1]}}}" if numbers else None


def _read_exchange(rows: list[TupleRow]) -> Exchange:
    return Exchange(
        claimed=[ClaimedJob._make(row[1:12]) for row in rows if row[0] == "claimed"],
        refused=[JobRef._make(row[1:3]) for row in rows if row[0] == "refused"],
        cancelled=[JobRef._make(row[1:3]) for row in rows if row[0] == "cancel"],
        due_in=rows[-1][-1],
    )


def complete_job(*, id: int, execution: int, result: str | None) -> Call[None]:  # noqa: A002 - the SQL parameter's name
    """Call rota.complete_job; `result` is JSON text."""
    return Call(
        """
        select rota.complete_job(
            id => %(id)s, execution => %(execution)s, result => %(result)s::jsonb
        )
        """,
        {"id": id, "execution": execution, "result": result},
        _nothing,
    )


def maintain() -> Call[Maintained]:
    """Call rota.maintain."""
    return Call(
        """
        select
            m.promoted_count, m.lost_worker_count, m.returned_count,
            m.timed_out_count, m.purged_count,
            least(m.next_due_at, '9999-12-31'::timestamptz)
        from rota.maintain() as m
        """,
        {},
        lambda rows: Maintained(*rows[0]),
    )


def queue_stats() -> Call[Table]:
    """Read the view rota.queue_stats."""
    return Call(
        """
        select
            s.queue, s.paused_at, s.scheduled_count, s.queued_count, s.running_count,
            s.dead_count, date_trunc('second', s.oldest_due_age)::text
        from rota.queue_stats as s
        order by s.queue
        """,
        {},
        lambda rows: (
            (
                *("queue", "paused_at", "scheduled_count", "queued_count"),
                *("running_count", "dead_count", "oldest_due_age"),
            ),
            rows,
        ),
    )


def worker_status() -> Call[Table]:
    """Read the view rota.worker_status: the workers that are alive."""
    return Call(
        """
        select
            w.id, w.name, w.state, w.running_count,
            date_trunc('second', w.registered_at)::text,
            date_trunc('second', w.heartbeat_at)::text
        from rota.worker_status as w
        where w.state in ('alive', 'expired')
        order by w.id
        """,
        {},
        lambda rows: (
            ("id", "name", "state", "running_count", "registered_at", "heartbeat_at"),
            rows,
        ),
    )


def mark_idle(*, queues: Sequence[str]) -> Call[None]:
    """Call rota.mark_idle, on the connection that listens."""
    return Call(
        "select rota.mark_idle(queues => %(queues)s::text[])",
        {"queues": list(queues)},
        _nothing,
    )


def mark_busy(*, queues: Sequence[str]) -> Call[None]:
    """Call rota.mark_busy, on the connection that listens."""
    return Call(
        "select rota.mark_busy(queues => %(queues)s::text[])",
        {"queues": list(queues)},
        _nothing,
    )


def enqueuers_in_flight() -> Call[list[str]]:
    """Call rota.enqueuers_in_flight."""
    return Call("select rota.enqueuers_in_flight()", {}, lambda rows: list(rows[0][0]))


async def listen(connection: AsyncConnection) -> None:
    """Listen for wake-ups: the channel is rota, the payload a queue's name.

    To be idle is what this session is for, whatever is the rule for others.
    """
    await connection.execute("set idle_session_timeout to 0")
    await connection.execute("listen rota")
