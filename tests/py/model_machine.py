"""Random histories: every verb, by several sessions, against the database and the model.

Each step is one SQL statement in one session. What it returns or which SQLSTATE it
raises, and what every view shows afterwards, to the session itself and to the others,
must be what `model.Model` says. A failure prints its history as SQL to paste.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeAlias

import psycopg
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from invariants import violations
from model import BEGIN, LIVE, SHOWN, Job, Model
from model_store import Refused

if TYPE_CHECKING:
    from collections.abc import Callable

Connection: TypeAlias = psycopg.Connection[Any]

OBSERVER = 0
SESSIONS = (1, 2, 3)
OPTIONS = "-c timezone=UTC -c lock_timeout=20ms -c jit=off"

# The clock is a setting of the session. Positions are far apart, so that floors move
# with every few jobs and not with every few hundred.
SET_UP = """
create or replace function rota._now()
returns timestamptz
language sql
volatile
parallel unsafe
as $$
    select current_setting('test.now')::timestamptz
$$;
alter sequence rota.position_seq increment by 100;
"""

_RESET = """
delete from rota.job;
delete from rota.archive;
delete from rota.attempt;
delete from rota.dead_letter;
delete from rota.idempotency_key;
delete from rota.worker;
delete from rota.tally;
delete from rota.schedule;
delete from rota.lane;
delete from rota.queue;
delete from rota.retry_policy;
select
    setval('rota.job_id_seq', 1, false),
    setval('rota.worker_id_seq', 1, false),
    setval('rota.position_seq', 1, false),
    setval('rota.lane_id_seq', 1, false),
    setval('rota.queue_id_seq', 1, false),
    setval('rota.schedule_id_seq', 1, false);
select rota.create_retry_policy('default');
select rota.create_queue('default');
"""

_PICTURE = {
    "jobs": f"select {', '.join(SHOWN)} from rota.jobs order by id",
    "lanes": """
        select q.name, l.priority, j.lane_id < 0, array_agg(j.id order by j.position)
        from rota.job as j
        inner join rota.lane as l on l.id = abs(j.lane_id)
        inner join rota.queue as q on q.id = l.queue_id
        where j.state = 'queued'
        group by 1, 2, 3
        """,
    "executions": """
        select
            job_id, execution, attempt, worker_id, started_at, finished_at, outcome,
            error
        from rota.executions
        """,
    "dead_letters": """
        select id, queue, reason, error, died_at, idempotency_key
        from rota.dead_letters
        """,
    "keys": """
        select q.name, ik.key, ik.job_id, ik.expires_at
        from rota.idempotency_key as ik
        inner join rota.queue as q on q.id = ik.queue_id
        """,
    "workers": """
        select id, lease, heartbeat_at, lost_at, ended_at from rota.worker_status
        """,
    "queues": """
        select
            queue, paused_at, scheduled_count, queued_count, running_count, dead_count,
            unarchived_completed_count, unarchived_cancelled_count
        from rota.queue_stats
        """,
    "schedules": """
        select
            schedule, state, next_fires[1], last_due_at, last_job_id, missed_count,
            overlapped_count
        from rota.schedule_status
        """,
    "sequences": """
        select j.last_value, s.last_value
        from rota.job_id_seq as j, rota.schedule_id_seq as s
        """,
}


def literal(value: Any) -> str:
    """Return the value as SQL; a list as the text of an array, a dict as JSON."""
    match value:
        case None:
            return "null"
        case bool() | int():
            return str(value).lower()
        case dict():
            return f"'{json.dumps(value)}'"
        case list() if value and all(isinstance(v, dict) and "id" in v for v in value):
            return f"'{json.dumps(value)}'"
        case list():
            return "'{" + ", ".join(_element(v) for v in value) + "}'"
    return f"'{_text(value)}'"


def _element(value: Any) -> str:
    match value:
        case None | bool() | int():
            return literal(value)
        case dict():
            return json.dumps(json.dumps(value))
    return json.dumps(_text(value))


def _text(value: Any) -> str:
    if isinstance(value, timedelta):
        return f"{value.total_seconds():g} s"
    if isinstance(value, datetime):
        return value.isoformat(sep=" ")
    return str(value)


def call(verb: str, values: dict[str, Any]) -> str:
    given = ", ".join(f"{name} => {literal(value)}" for name, value in values.items())
    return f"select * from rota.{verb}({given})"


def sort(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return sorted(rows, key=repr)


def difference(
    database: list[tuple[Any, ...]], model: list[tuple[Any, ...]]
) -> list[str]:
    return [
        *(f"  database: {row}" for row in database if row not in model),
        *(f"  model:    {row}" for row in model if row not in database),
    ]


@dataclass
class Database:
    """The connections of a run, used for one history after the other."""

    sessions: dict[int, Connection]

    def __post_init__(self) -> None:
        for connection in self.sessions.values():
            connection.prepare_threshold = None  # or a rollback forgets them
            for name, query in _PICTURE.items():
                connection.execute(f"prepare {name} as {query}".encode())

    def reset(self) -> None:
        for connection in self.sessions.values():
            connection.rollback() if connection.info.transaction_status else None
            connection.execute("reset all")
            connection.execute(f"set test.now = '{BEGIN}'".encode())
        self.sessions[OBSERVER].execute(_RESET.encode())


class History(RuleBasedStateMachine):
    """Rules draw small numbers; which job, worker or key they mean, the model says."""

    database: Database

    def __init__(self) -> None:
        super().__init__()
        self.model = Model()
        self.script: list[str] = []
        self.clocks: dict[int, datetime] = {}
        self.savepoints = dict.fromkeys(SESSIONS, 0)
        self.steps = 0
        self.database.reset()

    # -- a step ----------------------------------------------------------------------

    def step(self, session: int, verb: str, **values: Any) -> None:
        """Call the verb in the database and in the model, and compare."""
        query = call(verb, values)
        self._note(session, query)
        answer, code, message = self._ask(session, query)
        self.script.append(f"-- {code or answer}")
        seen = self._look(session)
        model = self.model
        model.seen_run_ats = {row[0]: row[SHOWN.index("run_at")] for row in seen["jobs"]}
        model.seen_sequences = dict(
            zip(("job", "schedule"), seen.pop("sequences")[0], strict=True)
        )
        last_ids = dict(model.last_ids)
        expected: Any
        try:
            with model.store.statement(session):
                expected = getattr(model, verb)(session, answer, **values)
        except Refused as refused:
            model.last_ids = last_ids
            if refused.code != code:
                self.fail(f"the model says {refused}; the database {code} {message}")
        except AssertionError as error:
            if code:
                self.fail(f"the model allows it; the database says {code} {message}")
            self.fail(str(error))
        else:
            if code:
                self.fail(f"the model allows it; the database says {code} {message}")
            if lines := difference(sort(answer or []), sort(expected)):
                self.fail("another answer", *lines)
        self._compare(session, seen)
        if session in model.store.open:
            self._compare(OBSERVER, self._look(OBSERVER))

    def _ask(self, session: int, query: str) -> tuple[Any, str | None, str]:
        """Return the rows, or the SQLSTATE and what goes with it."""
        is_open = session in self.model.store.open
        parts = [f"set test.now = '{self.model.now}'", query]
        if is_open:
            parts = ["savepoint step", *parts, "release step"]
        connection = self.database.sessions[session]
        try:
            cursor = connection.execute(";\n".join(parts).encode())
        except psycopg.Error as error:
            if is_open:
                connection.execute("rollback to step")
                connection.execute("release step")
            return None, error.sqlstate or "?", f"{error} {error.diag.message_detail}"
        while cursor.description is None:
            cursor.nextset()
        return cursor.fetchall(), None, ""

    def _look(self, session: int) -> dict[str, list[tuple[Any, ...]]]:
        cursor = self.database.sessions[session].execute(
            ";".join(f"execute {name}" for name in _PICTURE).encode()
        )
        picture = {}
        for name in _PICTURE:
            picture[name] = cursor.fetchall()
            cursor.nextset()
        return picture

    def _compare(self, session: int, seen: dict[str, list[tuple[Any, ...]]]) -> None:
        for name, expected in self.model.picture(session).items():
            if lines := difference(seen[name], expected):
                who = "the others" if session == OBSERVER else f"session {session}"
                self.fail(f"{name}, as {who} see them:", *lines)

    def _note(self, session: int, statement: str) -> None:
        if self.clocks.get(session) != self.model.now:
            self.clocks[session] = self.model.now
            statement = f"set test.now = '{self.model.now}'; {statement}"
        self.script.append(f"/* session {session} */ {statement};")

    def fail(self, *lines: str) -> None:
        raise AssertionError("\n".join((*lines, "", "history:", *self.script)))

    @invariant()
    def hold(self) -> None:
        self.steps += 1
        if self.steps % 10 == 0:
            self.look_for_violations(self.pick(list(self.database.sessions), self.steps))

    def look_for_violations(self, session: int) -> None:
        connection = self.database.sessions[session]
        connection.execute(f"set test.now = '{self.model.now}'".encode())
        if found := violations(connection, *self._ledger(session)):
            self.fail(f"invariants, as session {session} sees them:", *found)

    def _ledger(self, session: int) -> tuple[list[int] | None, int]:
        """What was enqueued, and how much of that was purged; the observer knows."""
        if session != OBSERVER:
            return None, 0
        rows = self.model.store.committed
        jobs = {key[1]: job for key, job in rows.items() if key[0] == "job"}
        tallied = sum(key[0] == "tally" for key in rows)
        return list(jobs), list(jobs.values()).count(None) - tallied

    def teardown(self) -> None:
        for session in list(self.model.store.open):
            self.end(session, "commit")
        for session in self.database.sessions:
            self.look_for_violations(session)

    # -- what a rule means -----------------------------------------------------------

    def pick(self, choices: list[Any], which: int, default: Any = None) -> Any:
        return choices[which % len(choices)] if choices else default

    def pick_job(self, session: int, which: int, *states: str) -> Job | None:
        """Return mostly one in these states, but every eighth time any job."""
        jobs = self.model.live(session, *states)
        if not jobs or which % 8 == 7:
            jobs = self.model.jobs(session)
        found: Job | None = self.pick(jobs, which // 8)
        return found

    def pick_tokens(
        self, session: int, picks: list[tuple[int, int]]
    ) -> list[tuple[int, int]]:
        tokens = {}
        for which, offset in picks:
            job = self.pick_job(session, which, "running")
            if job is None:
                tokens.setdefault(which + 1, 1)
            else:
                tokens.setdefault(job.id, max(job.execution + offset, 0))
        return list(tokens.items())

    def pick_worker(self, session: int, which: int) -> int:
        workers = self.model.workers(session)
        living = [w.id for w in workers if w.is_living]
        if which % 8 == 7 or not living:
            return int(self.pick([w.id for w in workers], which // 8, 99))
        return int(self.pick(living, which // 8))

    # -- rules -----------------------------------------------------------------------

    @initialize()
    def furnish(self) -> None:
        """Queues of every sort, and two workers."""
        set_up = (
            ("create_retry_policy", {
                "policy": "quick", "strategy": "fixed", "jitter": "none",
                "base": timedelta(seconds=3),
            }),
            ("create_queue", {
                "queue": "a", "max_attempts": 2, "max_lost": 2, "retry_policy": "quick",
            }),
            ("create_queue", {
                "queue": "b", "max_attempts": 3, "timeout": timedelta(seconds=5),
                "retention": timedelta(hours=1),
            }),
            ("create_queue", {"queue": "unkept", "retention": timedelta(0)}),
            ("register_worker", {"name": "w", "lease": timedelta(seconds=30)}),
            ("register_worker", {"name": "w", "lease": timedelta(minutes=5)}),
        )  # fmt: skip
        for verb, values in set_up:
            self.step(1, verb, **values)

    session = st.sampled_from(SESSIONS)
    queue = st.sampled_from(["a", "a", "b", "unkept", "new"])
    some_queues = st.lists(queue, max_size=3)
    number = st.integers(0, 63)
    seconds = st.sampled_from([0, 1, 3, 20]).map(lambda s: timedelta(seconds=s))
    maybe_seconds = st.none() | seconds
    priority = st.sampled_from([0, 0, 1, -1])
    key = st.none() | st.sampled_from(["x", "y"])
    token = st.tuples(number, st.sampled_from([0, 0, 0, 0, 0, 0, -1, 1]))
    tokens = st.lists(token, max_size=4)

    @rule(step=st.sampled_from([0.3, 0.3, 1, 4, 11, 31, 61, 310, 4000]))
    def wait(self, step: float) -> None:
        self.model.now += timedelta(seconds=step)

    @rule(session=session)
    def begin(self, session: int) -> None:
        if session not in self.model.store.open:
            self._note(session, "begin")
            self.database.sessions[session].execute("begin")
            self.model.store.begin(session)
            self.savepoints[session] = 0

    @precondition(lambda self: self.model.store.open)
    @rule(which=number, how=st.sampled_from(["commit", "commit", "rollback"]))
    def end_one(self, which: int, how: str) -> None:
        self.end(self.pick(sorted(self.model.store.open), which), how)

    def end(self, session: int, how: str) -> None:
        self._note(session, how)
        self.database.sessions[session].execute(how.encode())
        getattr(self.model.store, how)(session)
        self._compare(session, self._look(session))

    @precondition(lambda self: self.model.store.open)
    @rule(which=number, how=st.sampled_from(["savepoint", "release", "rollback to"]))
    def save(self, which: int, how: str) -> None:
        session = self.pick(sorted(self.model.store.open), which)
        store, connection = self.model.store, self.database.sessions[session]
        if how != "savepoint" and not self.savepoints[session]:
            return
        self.savepoints[session] += how == "savepoint"
        name = f"s{self.savepoints[session]}"
        self._note(session, f"{how} {name}")
        connection.execute(f"{how} {name}".encode())
        if how == "savepoint":
            store.savepoint(session)
            return
        if how == "release":
            store.release_savepoint(session)
        else:
            store.rollback_to_savepoint(session)
            connection.execute(f"release {name}".encode())
            self._note(session, f"release {name}")
        self.savepoints[session] -= 1
        self._compare(session, self._look(session))

    @rule(
        session=session,
        queue=queue,
        priority=priority,
        delay=maybe_seconds,
        key=key,
        on_duplicate=st.sampled_from(["keep", "replace", "reject"]),
        key_ttl=maybe_seconds,
        extra=st.sampled_from([
            {}, {}, {}, {"retry_policy": "quick"}, {"retry_policy": "late"},
            {"max_attempts": 1}, {"max_attempts": 0}, {"timeout": timedelta(seconds=2)},
            {"run_at": BEGIN},
        ]),
    )  # fmt: skip
    def enqueue(
        self,
        session: int,
        queue: str,
        priority: int,
        delay: timedelta | None,
        key: str | None,
        on_duplicate: str,
        key_ttl: timedelta | None,
        extra: dict[str, Any],
    ) -> None:
        values = {
            "kind": "k",
            "payload": {"n": self.steps},
            "queue": queue,
            "priority": priority,
            "delay": delay,
            "idempotency_key": key,
            "on_duplicate": on_duplicate if key else "keep",
            "key_ttl": key_ttl if key else None,
            **extra,
        }
        given = {n: v for n, v in values.items() if v is not None and v != 0}
        self.step(session, "enqueue", **{**given, "on_duplicate": values["on_duplicate"]})

    @rule(
        session=session,
        queue=queue,
        jobs=st.lists(st.tuples(priority, maybe_seconds, key), min_size=1, max_size=5),
        are_plain=st.booleans(),
        on_duplicate=st.sampled_from(["keep", "replace", "reject"]),
    )
    def enqueue_jobs(
        self,
        session: int,
        queue: str,
        jobs: list[tuple[int, timedelta | None, str | None]],
        are_plain: bool,
        on_duplicate: str,
    ) -> None:
        values: dict[str, Any] = {
            "kinds": ["k"],
            "payloads": [{"n": self.steps}] * len(jobs),
            "queue": queue,
        }
        if not are_plain:
            values |= {
                "priorities": [job[0] for job in jobs],
                "delays": [job[1] for job in jobs],
                "idempotency_keys": [job[2] for job in jobs],
                "on_duplicate": on_duplicate,
            }
        self.step(session, "enqueue_jobs", **values)

    @rule(session=session, lease=st.sampled_from([10, 30, 300]))
    def register_worker(self, session: int, lease: int) -> None:
        lease_time = timedelta(seconds=lease)
        self.step(session, "register_worker", name="w", lease=lease_time)

    @rule(session=session, which=number, queues=some_queues, most=st.integers(-1, 4))
    def claim_jobs(
        self, session: int, which: int, queues: list[str], most: int
    ) -> None:
        worker = self.pick_worker(session, which)
        self.step(session, "claim_jobs", worker=worker, queues=queues, max_jobs=most)

    @rule(session=session, which=number, most=st.integers(1, 4))
    def claim_from_all(self, session: int, which: int, most: int) -> None:
        worker = self.pick_worker(session, which)
        queues = [q.name for q in self.model.store.all(session, "queue")]
        self.step(session, "claim_jobs", worker=worker, queues=queues, max_jobs=most)

    @rule(session=session, which=number)
    def heartbeat(self, session: int, which: int) -> None:
        self.step(session, "heartbeat", worker=self.pick_worker(session, which))

    @rule(
        session=session,
        which=number,
        most=st.integers(0, 3),
        completed=tokens,
        returned=st.lists(
            st.tuples(
                token,
                st.sampled_from(["failed", "timed_out", "released", "snoozed"]),
                st.booleans(),
                st.sampled_from([0, 2, 20]),
            ),
            max_size=3,
        ),
    )
    def exchange(
        self,
        session: int,
        which: int,
        most: int,
        completed: list[tuple[int, int]],
        returned: list[tuple[tuple[int, int], str, bool, int]],
    ) -> None:
        values: dict[str, Any] = {
            "worker": self.pick_worker(session, which),
            "queues": ["a", "b", "unkept"],
            "max_jobs": most,
        }
        done = self.pick_tokens(session, completed)
        if done:
            values["completed_ids"] = [id for id, _ in done]
            values["completed_executions"] = [execution for _, execution in done]
        back = self.pick_tokens(session, [token for token, *_ in returned])
        rows = [
            {
                "id": id,
                "execution": execution,
                "outcome": outcome,
                **({"error": "e"} if outcome in ("failed", "timed_out") else {}),
                **({} if is_retryable else {"retryable": False}),
                **({"delay": delay} if outcome == "snoozed" or delay else {}),
            }
            for (id, execution), (_, outcome, is_retryable, delay) in zip(
                back, returned, strict=False
            )
            if id not in dict(done)
        ]
        if rows:
            values["returned"] = rows
        self.step(session, "exchange", **values)

    @rule(session=session, picks=tokens)
    def complete_jobs(self, session: int, picks: list[tuple[int, int]]) -> None:
        tokens = self.pick_tokens(session, picks)
        self.step(
            session,
            "complete_jobs",
            ids=[id for id, _ in tokens],
            executions=[execution for _, execution in tokens],
            results=[{"n": self.steps}] * len(tokens),
        )

    @rule(session=session, pick=token)
    def complete_job(self, session: int, pick: tuple[int, int]) -> None:
        ((id, execution),) = self.pick_tokens(session, [pick])  # noqa: A001
        self.step(session, "complete_job", id=id, execution=execution)

    @rule(
        session=session,
        picks=tokens,
        is_retryable=st.booleans(),
        delays=st.lists(maybe_seconds, min_size=4, max_size=4),
    )
    def fail_jobs(
        self,
        session: int,
        picks: list[tuple[int, int]],
        is_retryable: bool,
        delays: list[timedelta | None],
    ) -> None:
        tokens = self.pick_tokens(session, picks)
        self.step(
            session,
            "fail_jobs",
            ids=[id for id, _ in tokens],
            executions=[execution for _, execution in tokens],
            errors=["e"] * len(tokens),
            retryable=[is_retryable] * len(tokens),
            delays=delays[: len(tokens)],
        )

    @rule(session=session, pick=token, delay=maybe_seconds)
    def fail_job(
        self, session: int, pick: tuple[int, int], delay: timedelta | None
    ) -> None:
        ((id, execution),) = self.pick_tokens(session, [pick])  # noqa: A001
        self.step(
            session, "fail_job", id=id, execution=execution, error="e", delay=delay
        )

    @rule(session=session, picks=tokens)
    def release_jobs(self, session: int, picks: list[tuple[int, int]]) -> None:
        tokens = self.pick_tokens(session, picks)
        self.step(
            session,
            "release_jobs",
            ids=[id for id, _ in tokens],
            executions=[execution for _, execution in tokens],
        )

    @rule(session=session, pick=token)
    def release_job(self, session: int, pick: tuple[int, int]) -> None:
        ((id, execution),) = self.pick_tokens(session, [pick])  # noqa: A001
        self.step(session, "release_job", id=id, execution=execution)

    @rule(session=session, picks=tokens, delay=maybe_seconds)
    def snooze_jobs(
        self, session: int, picks: list[tuple[int, int]], delay: timedelta | None
    ) -> None:
        tokens = self.pick_tokens(session, picks)
        self.step(
            session,
            "snooze_jobs",
            ids=[id for id, _ in tokens],
            executions=[execution for _, execution in tokens],
            delays=[delay] * len(tokens),
        )

    @rule(session=session, pick=token, delay=seconds)
    def snooze_job(
        self, session: int, pick: tuple[int, int], delay: timedelta
    ) -> None:
        ((id, execution),) = self.pick_tokens(session, [pick])  # noqa: A001
        self.step(session, "snooze_job", id=id, execution=execution, delay=delay)

    @rule(session=session, picks=st.lists(number, max_size=3))
    def cancel_jobs(self, session: int, picks: list[int]) -> None:
        jobs = [self.pick_job(session, which, *LIVE) for which in picks]
        ids = list({job.id for job in jobs if job})
        self.step(session, "cancel_jobs", ids=ids, reason="r")

    @rule(session=session, which=number)
    def cancel_job(self, session: int, which: int) -> None:
        job = self.pick_job(session, which, *LIVE)
        self.step(session, "cancel_job", id=job.id if job else which)

    @rule(session=session, which=number)
    def deregister_worker(self, session: int, which: int) -> None:
        self.step(session, "deregister_worker", worker=self.pick_worker(session, which))

    @rule(session=session, which=number, knows=st.booleans())
    def release_stray_jobs(self, session: int, which: int, knows: bool) -> None:
        worker = self.pick_worker(session, which)
        running = [
            j for j in self.model.live(session, "running") if j.worker_id == worker
        ]
        known = running[: len(running) // 2] if knows else []
        self.step(
            session,
            "release_stray_jobs",
            worker=worker,
            ids=[j.id for j in known],
            executions=[j.execution for j in known],
        )

    @rule(session=session, most=st.sampled_from([1, 1000]))
    def promote_jobs(self, session: int, most: int) -> None:
        self.step(session, "promote_jobs", max_jobs=most)

    @rule(session=session, most=st.sampled_from([1, 1000]))
    def reap_workers(self, session: int, most: int) -> None:
        self.step(session, "reap_workers", max_jobs=most)

    @rule(session=session)
    def time_out_jobs(self, session: int) -> None:
        self.step(session, "time_out_jobs")

    @rule(
        session=session,
        verb=st.sampled_from(
            ["maintain", "maintain", "purge_archive", "purge_keys", "purge_workers"]
        ),
    )
    def maintain(self, session: int, verb: str) -> None:
        """House-keeping is short: nobody does it inside a longer transaction."""
        if session not in self.model.store.open:
            self.step(session, verb)

    @rule(session=session, which=number, queue=st.none() | queue)
    def replay_dead(self, session: int, which: int, queue: str | None) -> None:
        if queue:
            patch = {"patched": True}
            self.step(session, "replay_dead", queue=queue, payload_patch=patch)
        else:
            job = self.pick_job(session, which, "dead")
            self.step(session, "replay_dead", ids=[job.id if job else which])

    @rule(session=session, which=number)
    def purge_dead(self, session: int, which: int) -> None:
        job = self.pick_job(session, which, "dead")
        self.step(session, "purge_dead", ids=[job.id if job else which])

    @rule(session=session, queue=queue, is_on=st.booleans())
    def pause_queue(self, session: int, queue: str, is_on: bool) -> None:
        self.step(session, "pause_queue" if is_on else "resume_queue", queue=queue)

    @rule(session=session, most=st.integers(1, 3))
    def create_queue(self, session: int, most: int) -> None:
        self.step(session, "create_queue", queue="new", max_attempts=most)

    @rule(
        session=session,
        queue=queue,
        settings=st.sampled_from(
            [
                {"max_attempts": 1},
                {"max_lost": 1},
                {"timeout": timedelta(seconds=9)},
                {"retention": timedelta(0)},
                {"retention": timedelta(minutes=20)},
                {"retry_policy": "default"},
                {"retry_policy": "late"},
            ]
        ),
    )
    def alter_queue(self, session: int, queue: str, settings: dict[str, Any]) -> None:
        self.step(session, "alter_queue", queue=queue, **settings)

    @rule(session=session, base=seconds)
    def create_retry_policy(self, session: int, base: timedelta) -> None:
        self.step(
            session,
            "create_retry_policy",
            policy="late",
            strategy="fixed",
            jitter="none",
            base=base,
        )

    @rule(session=session, policy=st.sampled_from(["late", "quick"]), base=seconds)
    def alter_retry_policy(self, session: int, policy: str, base: timedelta) -> None:
        self.step(session, "alter_retry_policy", policy=policy, base=base)

    @rule(
        session=session,
        queue=queue,
        priority=priority,
        overlap=st.sampled_from(["allow", "skip"]),
    )
    def create_schedule(
        self, session: int, queue: str, priority: int, overlap: str
    ) -> None:
        self.step(
            session,
            "create_schedule",
            schedule="s",
            expression="* * * * *",
            kind="fired",
            queue=queue,
            priority=priority,
            overlap=overlap,
        )

    @rule(
        session=session,
        verb=st.sampled_from(
            ["pause_schedule", "resume_schedule", "run_schedule_now", "drop_schedule"]
        ),
    )
    def change_schedule(self, session: int, verb: str) -> None:
        self.step(session, verb, schedule="s")

    @rule(session=session)
    def materialize_schedules(self, session: int) -> None:
        self.step(session, "materialize_schedules")
