"""Random histories: every verb, by several sessions, in the database and the model.

Each step is one SQL statement in one session. What it returns or which SQLSTATE it
raises, and what every view shows afterwards, to the session itself and to the others,
must be what `model.Model` says. A failure prints its history as SQL to paste.
"""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from random import Random
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import psycopg
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
)

from invariants import violations
from model import BEGIN, LIVE, SHOWN, Job, Model
from model_store import Refused

if TYPE_CHECKING:
    from collections.abc import Callable

Method = TypeVar("Method", bound="Callable[..., None]")
Connection: TypeAlias = psycopg.Connection[Any]

OBSERVER = 0
SESSIONS = (1, 2, 3)
_OPTIONS = "-c timezone=UTC -c lock_timeout=20ms -c jit=off"

# The clock is a setting of the session. Positions are far apart, so that floors move
# with every few jobs and not with every few hundred.
_CLOCK = """
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

# A vacuum would for moments lock the tables that it shortens.
_NO_VACUUM = """
do $$
declare
    v_table regclass;
begin
    for v_table in
        select c.oid
        from pg_class as c
        where c.relnamespace = 'rota'::regnamespace and c.relkind = 'r'
    loop
        execute format('alter table %s set (autovacuum_enabled = off)', v_table);
    end loop;
end;
$$
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


class Database:
    """The connections of a run, used for one history after the other."""

    def __init__(self, connect: Callable[..., Connection]) -> None:
        self.sessions = {n: connect(options=_OPTIONS) for n in (OBSERVER, *SESSIONS)}
        self.count = 0
        observer = self.sessions[OBSERVER]
        observer.execute(_CLOCK.encode())
        self.reset()
        observer.execute(b"select rota.alter_settings(worker_retention => '1 hour')")
        observer.execute(b"select rota.ensure_partitions()")
        observer.execute(_NO_VACUUM.encode())
        for connection in self.sessions.values():
            connection.prepare_threshold = None  # or a rollback forgets them
            for name, query in _PICTURE.items():
                connection.execute(f"prepare {name} as {query}".encode())

    def reset(self) -> None:
        for connection in self.sessions.values():
            connection.rollback()
            connection.execute("reset all")
            connection.execute(f"set test.now = '{BEGIN}'".encode())
        self.sessions[OBSERVER].execute(_RESET.encode())
        self.count += 1
        if self.count % 100 == 0:
            self.sessions[OBSERVER].execute("vacuum (truncate off)")


# Numbers that pick what is not asked for.
_ODD = (11, 22, 33, 44)


# What is drawn, is drawn with equal chances from one number for each step: of what
# hypothesis draws by itself, most are the same few values and copies of earlier steps,
# and few histories lead anywhere.
Draw: TypeAlias = "Callable[[Random], Any]"


def one_of(*choices: Any) -> Draw:
    return lambda random: random.choice(choices)


def integers(least: int, most: int) -> Draw:
    return lambda random: random.randint(least, most)


def maybe(draw: Draw) -> Draw:
    return lambda random: draw(random) if random.random() < 0.5 else None


def tuples(*draws: Draw) -> Draw:
    return lambda random: tuple(draw(random) for draw in draws)


def lists(draw: Draw, least: int, most: int) -> Draw:
    return lambda random: [draw(random) for _ in range(random.randint(least, most))]


_actions: list[tuple[str, dict[str, Draw]]] = []


def action(weight: int, **draws: Draw) -> Callable[[Method], Method]:
    """Let the method be what happens next, with that weight."""

    def register(method: Method) -> Method:
        _actions.extend([(method.__name__, draws)] * weight)
        return method

    return register


class History(RuleBasedStateMachine):
    """Actions draw small numbers; the model says which job or worker they mean."""

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
        model.seen_run_ats = {
            row[0]: row[SHOWN.index("run_at")] for row in seen["jobs"]
        }
        model.seen_sequences = dict(
            zip(("job", "schedule"), seen.pop("sequences")[0], strict=True)
        )
        last_ids = dict(model.last_ids)
        expected: Any
        try:
            model.store.session = session
            model.answer = answer
            with model.store.statement():
                expected = getattr(model, verb)(**values)
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
        self.model.store.session = session
        for name, expected in self.model.picture().items():
            if lines := difference(seen[name], expected):
                who = "the others" if session == OBSERVER else f"session {session}"
                self.fail(f"{name}, as {who} see them:", *lines)

    def _note(self, session: int, statement: str) -> None:
        if self.clocks.get(session) != self.model.now:
            self.clocks[session] = self.model.now
            statement = f"set test.now = '{self.model.now}'; {statement}"
        self.script.append(f"/* session {session} */ {statement};")

    def fail(self, *lines: str) -> None:
        script = [*_CLOCK.strip().splitlines(), *self.script]
        raise AssertionError("\n".join((*lines, "", "history:", *script)))

    @invariant()
    def hold(self) -> None:
        self.steps += 1
        if self.steps % 10 == 0:
            self.look_for_violations(
                self.pick(list(self.database.sessions), self.steps)
            )

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
        """Return mostly one in these states, but now and then any job."""
        self.model.store.session = session
        jobs = self.model.live(*states)
        if not jobs or which in _ODD:
            jobs = self.model.jobs()
        found: Job | None = self.pick(jobs, which)
        return found

    def pick_tokens(
        self, session: int, picks: list[tuple[int, int]]
    ) -> list[tuple[int, int]]:
        tokens: dict[int, int] = {}
        for which, offset in picks:
            job = self.pick_job(session, which, "running")
            if job is None:
                tokens.setdefault(which + 1, 1)
            else:
                tokens.setdefault(job.id, max(job.execution + offset, 0))
        return list(tokens.items())

    def pick_worker(self, session: int, which: int) -> int:
        self.model.store.session = session
        workers = self.model.workers()
        living = [w.id for w in workers if w.is_living]
        if which in _ODD or not living:
            return int(self.pick([w.id for w in workers], which, 99))
        return int(self.pick(living, which))

    # -- what may happen next ---------------------------------------------------------

    session = one_of(*SESSIONS)
    queue = one_of("a", "a", "b", "unkept", "new")
    number = integers(0, 63)
    seconds = one_of(*(timedelta(seconds=s) for s in (0, 1, 3, 20)))
    maybe_seconds = maybe(seconds)
    priority = one_of(0, 0, 1, -1)
    key = maybe(one_of("x", "y"))
    on_duplicate = one_of("keep", "replace", "reject")
    token = tuples(number, one_of(0, 0, 0, 0, 0, 0, -1, 1))
    tokens = lists(token, 1, 4)
    flag = one_of(False, True)

    @initialize()
    def furnish(self) -> None:
        """Queues of every sort, two workers."""
        set_up: list[tuple[str, dict[str, Any]]] = [
            ("create_retry_policy", {
                "policy": "quick", "strategy": "fixed", "jitter": "none",
                "base": timedelta(seconds=3),
            }),
            ("create_queue", {
                "queue": "a", "max_attempts": 1, "max_lost": 2, "retry_policy": "quick",
            }),
            ("create_queue", {
                "queue": "b", "max_attempts": 3, "max_lost": 1,
                "timeout": timedelta(seconds=5), "retention": timedelta(hours=1),
            }),
            ("create_queue", {"queue": "unkept", "retention": timedelta(0)}),
            ("register_worker", {"name": "w", "lease": timedelta(seconds=30)}),
            ("register_worker", {"name": "w", "lease": timedelta(minutes=5)}),
        ]  # fmt: skip
        for verb, values in set_up:
            self.step(1, verb, **values)

    @action(
        3,
        session=session,
        queue=queue,
        priority=priority,
        delay=maybe_seconds,
        key=key,
        on_duplicate=on_duplicate,
        extra=one_of(
            {}, {}, {}, {"retry_policy": "quick"}, {"retry_policy": "late"},
            {"max_attempts": 1}, {"max_attempts": 0}, {"timeout": timedelta(seconds=2)},
            {"run_at": BEGIN}, {"key_ttl": timedelta(seconds=3)},
        ),
    )  # fmt: skip
    def enqueue(
        self,
        session: int,
        queue: str,
        priority: int,
        delay: timedelta | None,
        key: str | None,
        on_duplicate: str,
        extra: dict[str, Any],
    ) -> None:
        values: dict[str, Any] = {
            "kind": "k", "payload": {"n": self.steps}, "queue": queue
        }  # fmt: skip
        if priority:
            values["priority"] = priority
        if delay is not None:
            values["delay"] = delay
        if key:
            values |= {"idempotency_key": key, "on_duplicate": on_duplicate}
        self.step(session, "enqueue", **values, **extra)

    @action(
        3,
        session=session,
        queue=queue,
        jobs=lists(tuples(priority, maybe_seconds, key), 1, 5),
        are_plain=flag,
        on_duplicate=on_duplicate,
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

    @action(
        1,
        session=session,
        which=number,
        queues=lists(queue, 0, 3),
        most=integers(-1, 4),
    )
    def claim_from_some(
        self, session: int, which: int, queues: list[str], most: int
    ) -> None:
        worker = self.pick_worker(session, which)
        self.step(session, "claim_jobs", worker=worker, queues=queues, max_jobs=most)

    @action(3, session=session, which=number)
    def claim_one(self, session: int, which: int) -> None:
        self.claim(session, which, 1)

    @action(3, session=session, which=number, most=integers(2, 5))
    def claim_many(self, session: int, which: int, most: int) -> None:
        self.claim(session, which, most)

    def claim(self, session: int, which: int, most: int) -> None:
        self.model.store.session = session
        if not any(w.is_living for w in self.model.workers()):
            lease = timedelta(seconds=60)
            self.step(session, "register_worker", name="w", lease=lease)
        worker = self.pick_worker(session, which)
        queues = [q.name for q in self.model.store.all("queue")]
        self.step(session, "claim_jobs", worker=worker, queues=queues, max_jobs=most)

    @action(2, session=session, which=number, queue=one_of("a", "b"))
    def work_on(self, session: int, which: int, queue: str) -> None:
        """Long enough alone for floors to rise as far as the others let them."""
        if session in self.model.store.open:
            return
        for _ in range(4):
            self.wait(0.3)
            self.step(session, "enqueue", kind="k", payload={}, queue=queue)
            self.claim(session, which, 1)

    @action(
        3,
        session=session,
        which=number,
        most=integers(0, 3),
        completed=lists(token, 0, 3),
        returned=lists(
            tuples(
                token,
                one_of("failed", "timed_out", "released", "snoozed"),
                flag,
                one_of(0, 2, 20),
            ),
            0,
            3,
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
            values["completed_ids"] = [token[0] for token in done]
            values["completed_executions"] = [token[1] for token in done]
        back = self.pick_tokens(session, [token for token, *_ in returned])
        rows = [
            {
                "id": token[0],
                "execution": token[1],
                "outcome": outcome,
                **({"error": "e"} if outcome in ("failed", "timed_out") else {}),
                **({} if is_retryable else {"retryable": False}),
                **({"delay": delay} if outcome == "snoozed" or delay else {}),
            }
            for token, (_, outcome, is_retryable, delay) in zip(
                back, returned, strict=False
            )
            if token[0] not in dict(done)
        ]
        if rows:
            values["returned"] = rows
        self.step(session, "exchange", **values)

    @action(
        6,
        session=session,
        verb=one_of("complete", "fail", "release", "snooze"),
        pick=token,
        delay=maybe_seconds,
    )
    def settle_job(
        self, session: int, verb: str, pick: tuple[int, int], delay: timedelta | None
    ) -> None:
        ((number, execution),) = self.pick_tokens(session, [pick])
        values: dict[str, Any] = {"id": number, "execution": execution}
        if verb == "fail":
            values |= {"error": "e", "delay": delay}
        elif verb == "snooze":
            values["delay"] = delay
        self.step(session, f"{verb}_job", **values)

    @action(
        5,
        session=session,
        verb=one_of("complete", "fail", "release", "snooze"),
        picks=tokens,
        is_retryable=flag,
        delays=lists(maybe_seconds, 4, 4),
    )
    def settle_jobs(
        self,
        session: int,
        verb: str,
        picks: list[tuple[int, int]],
        is_retryable: bool,
        delays: list[timedelta | None],
    ) -> None:
        tokens = self.pick_tokens(session, picks)
        count = len(tokens)
        values: dict[str, Any] = {
            "ids": [token[0] for token in tokens],
            "executions": [token[1] for token in tokens],
        }
        if verb == "complete":
            values["results"] = [{"n": self.steps}] * count
        elif verb == "fail":
            values |= {"errors": ["e"] * count, "delays": delays[:count]}
            values["retryable"] = [is_retryable] * count
        elif verb == "snooze":
            values["delays"] = [d or timedelta(seconds=1) for d in delays[:count]]
        self.step(session, f"{verb}_jobs", **values)

    @action(2, session=session, picks=lists(number, 1, 3), is_one=flag)
    def cancel(self, session: int, picks: list[int], is_one: bool) -> None:
        found = [self.pick_job(session, which, *LIVE) for which in picks]
        ids = list({job.id for job in found if job}) or [picks[0]]
        if is_one:
            self.step(session, "cancel_job", id=ids[0])
        else:
            self.step(session, "cancel_jobs", ids=ids, reason="r")

    @action(1, duration=one_of(0.3, 0.3, 1, 1, 4, 310))
    def wait(self, duration: float) -> None:
        self.model.now += timedelta(seconds=duration)

    @action(
        4,
        session=session,
        verb=one_of(
            "promote_jobs",
            "promote_jobs",
            "promote_jobs",
            "reap_workers",
            "time_out_jobs",
            "purge_keys",
            "materialize_schedules",
            "maintain",
        ),
        is_early=one_of(False, False, False, True),
    )
    def fall_due(self, session: int, verb: str, is_early: bool) -> None:
        """Do something at the very moment there is something to do, or just before."""
        self.model.store.session = session
        to_come = [at for at in self.model.instants(verb) if at > self.model.now]
        if to_come:
            early = timedelta(microseconds=int(is_early))
            self.model.now = max(self.model.now, min(to_come) - early)
        if (
            verb not in ("maintain", "purge_keys")
            or session not in self.model.store.open
        ):
            self.step(session, verb)

    @action(2, session=session)
    def begin(self, session: int) -> None:
        if session not in self.model.store.open:
            self._note(session, "begin")
            self.database.sessions[session].execute("begin")
            self.model.store.session = session
            self.model.store.begin()

    @action(
        3, which=number, how=one_of("commit", "commit", "commit", "rollback", "save")
    )
    def end_one(self, which: int, how: str) -> None:
        session = self.pick(sorted(self.model.store.open), which)
        if session is None:
            return
        if how == "save":
            self.savepoint(session)
        else:
            self.end(session, how)

    def end(self, session: int, how: str) -> None:
        self._note(session, how)
        self.database.sessions[session].execute(how.encode())
        self.savepoints[session] = 0
        self.model.store.session = session
        getattr(self.model.store, how)()
        self._compare(session, self._look(session))

    def savepoint(self, session: int) -> None:
        self.savepoints[session] += 1
        name = f"s{self.savepoints[session]}"
        self._note(session, f"savepoint {name}")
        self.database.sessions[session].execute(f"savepoint {name}".encode())
        self.model.store.session = session
        self.model.store.savepoint()

    @action(1, which=number, is_kept=flag)
    def end_savepoint(self, which: int, is_kept: bool) -> None:
        session = self.pick([s for s, n in self.savepoints.items() if n], which)
        if session is None:
            return
        name = f"s{self.savepoints[session]}"
        self.savepoints[session] -= 1
        parts = [f"release {name}"]
        self.model.store.session = session
        if not is_kept:
            parts.insert(0, f"rollback to {name}")
            self.model.store.rollback_to_savepoint()
            self.model.store.savepoint()
        self.model.store.release_savepoint()
        for part in parts:
            self._note(session, part)
            self.database.sessions[session].execute(part.encode())
        self._compare(session, self._look(session))

    @action(1, session=session, verb=one_of("promote_jobs", "reap_workers"))
    def do_one(self, session: int, verb: str) -> None:
        """As much work as maintain() leaves when it does little at a time."""
        self.step(session, verb, max_jobs=1)

    @action(
        1,
        session=session,
        verb=one_of("maintain", "purge_archive", "purge_keys", "purge_workers"),
        after=one_of(0, 0, 310, 310, 4000),
    )
    def keep_house(self, session: int, verb: str, after: int) -> None:
        """Nobody does this inside a longer transaction."""
        self.wait(after)
        if session not in self.model.store.open:
            self.step(session, verb)

    @action(
        2,
        session=session,
        verb=one_of(
            "heartbeat",
            "heartbeat",
            "register_worker",
            "deregister_worker",
            "release_stray_jobs",
        ),
        which=number,
        lease=one_of(10, 30, 300),
    )
    def worker(self, session: int, verb: str, which: int, lease: int) -> None:
        if verb == "register_worker":
            self.step(session, verb, name="w", lease=timedelta(seconds=lease))
            return
        values: dict[str, Any] = {"worker": self.pick_worker(session, which)}
        if verb == "release_stray_jobs":
            running = self.model.live("running")
            held = [j for j in running if j.worker_id == values["worker"]]
            known = held[: which % (len(held) + 1)]
            values["ids"] = [j.id for j in known]
            values["executions"] = [j.execution for j in known]
        self.step(session, verb, **values)

    @action(3, session=session, which=number, queue=queue, way=integers(0, 3))
    def bury(self, session: int, which: int, queue: str, way: int) -> None:
        job = self.pick_job(session, which, "dead")
        ids = [job.id if job else which]
        match way:
            case 0:
                self.step(session, "replay_dead", ids=ids)
            case 1:
                patch = {"patched": True}
                self.step(session, "replay_dead", queue=queue, payload_patch=patch)
            case 2:
                self.step(session, "purge_dead", ids=ids)
            case _:
                found = self.pick_tokens(session, [(which, 0)])
                self.step(
                    session,
                    "fail_jobs",
                    ids=[token[0] for token in found],
                    executions=[token[1] for token in found],
                    errors=["e"],
                    retryable=[False],
                )

    @action(
        3,
        session=session,
        queue=queue,
        order=one_of(
            ("pause_queue", {}),
            ("pause_queue", {}),
            ("pause_queue", {}),
            ("resume_queue", {}),
            ("resume_queue", {}),
            ("alter_queue", {"max_attempts": 2}),
            ("alter_queue", {"max_lost": 1}),
            ("alter_queue", {"timeout": timedelta(seconds=9)}),
            ("alter_queue", {"retention": timedelta(0)}),
            ("alter_queue", {"retention": timedelta(minutes=20)}),
            ("alter_queue", {"retry_policy": "default"}),
            ("alter_queue", {"retry_policy": "late"}),
            ("create_queue", {"max_attempts": 2}),
            ("create_queue", {"retry_policy": "late"}),
            ("create_retry_policy", {}),
            ("alter_retry_policy", {}),
        ),
        is_late=flag,
        base=seconds,
    )
    def operate(
        self,
        session: int,
        queue: str,
        order: tuple[str, dict[str, Any]],
        is_late: bool,
        base: timedelta,
    ) -> None:
        verb, values = order
        if verb.endswith("queue"):
            name = "new" if verb == "create_queue" else queue
            self.step(session, verb, queue=name, **values)
            return
        values = {"policy": "late" if is_late else "quick", "base": base}
        if verb == "create_retry_policy":
            values |= {"strategy": "fixed", "jitter": "none"}
        self.step(session, verb, **values)

    @action(
        1,
        session=session,
        verb=one_of(
            "create_schedule",
            "create_schedule",
            "run_schedule_now",
            "pause_schedule",
            "resume_schedule",
            "drop_schedule",
        ),
        queue=queue,
        priority=priority,
        overlap=one_of("allow", "skip"),
    )
    def schedule(
        self, session: int, verb: str, queue: str, priority: int, overlap: str
    ) -> None:
        values: dict[str, Any] = {"schedule": "s"}
        if verb == "create_schedule":
            values |= {
                "expression": "* * * * *",
                "kind": "fired",
                "queue": queue,
                "priority": priority,
                "overlap": overlap,
            }
        self.step(session, verb, **values)

    @rule(number=st.integers(0, 2**32 - 1))
    def act(self, number: int) -> None:
        random = Random(number)
        name, draws = random.choice(_actions)
        getattr(self, name)(**{n: draw(random) for n, draw in draws.items()})
