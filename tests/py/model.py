"""What rota does, said again in Python: small, slow, and plain enough to check by eye.

Every verb is a method that does what the verb does to the rows of a `Store`, in the
session that the store names, and returns what the verb returns. Where the database may
choose (a new id, the jitter of a delay, which of two equal lanes comes first), the
model is told what the database answered and checks that it was free to.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeAlias

from model_store import Refused, Store

if TYPE_CHECKING:
    from collections.abc import Sequence

Answer: TypeAlias = list[tuple[Any, ...]] | None
Token: TypeAlias = tuple[int, int]

BEGIN = datetime(2030, 1, 1, 12, tzinfo=UTC)
LONG_AGO = datetime(1, 1, 1, tzinfo=UTC)
NO_TIME = timedelta(0)
GRACE = timedelta(seconds=10)
WORKER_RETENTION = timedelta(hours=1)
LIVE = ("scheduled", "queued", "running")


@dataclass(frozen=True, slots=True)
class Policy:
    name: str
    base: timedelta
    factor: float = 1.0
    cap: timedelta = timedelta(hours=1)
    fraction: float = 0.0

    def delays(self, attempt: int) -> tuple[timedelta, timedelta]:
        """Return the shortest and the longest delay after this attempt failed."""
        longest = min(self.base * self.factor ** (attempt - 1), self.cap)
        least = timedelta(microseconds=1)
        return max(longest * (1 - self.fraction), least), max(longest, least)


@dataclass(frozen=True, slots=True)
class Queue:
    name: str
    max_attempts: int = 10
    policy: str = "default"
    timeout: timedelta | None = None
    max_lost: int = 5
    retention: timedelta | None = None
    paused_at: datetime | None = None
    purged_before: datetime = LONG_AGO


@dataclass(frozen=True, slots=True)
class Job:
    """In whatever state; the first fields are the columns of the view jobs."""

    id: int
    state: str
    queue: str
    priority: int
    kind: str
    payload: Any
    run_at: datetime
    created_at: datetime
    max_attempts: int
    timeout: timedelta | None
    idempotency_key: str | None
    claimed_at: datetime | None = None
    finished_at: datetime | None = None
    deadline_at: datetime | None = None
    attempt: int = 0
    execution: int = 0
    lost_count: int = 0
    worker_id: int | None = None
    cancel_requested_at: datetime | None = None
    result: Any = None
    reason: str | None = None
    error: str | None = None
    # From here on what the view does not show.
    policy: str | None = None
    key_ttl: timedelta | None = None
    place: int = 0
    is_front: bool = False


SHOWN = tuple(f.name for f in fields(Job))[:-4]


@dataclass(frozen=True, slots=True)
class Execution:
    """One that has ended without finishing its job."""

    job_id: int
    execution: int
    attempt: int
    worker_id: int
    started_at: datetime
    finished_at: datetime | None
    outcome: str
    error: str | None


@dataclass(frozen=True, slots=True)
class IdempotencyKey:
    queue: str
    key: str | None
    job_id: int
    expires_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Worker:
    id: int
    lease: timedelta
    heartbeat_at: datetime
    lost_at: datetime | None = None
    ended_at: datetime | None = None

    @property
    def is_living(self) -> bool:
        return self.lost_at is None and self.ended_at is None


@dataclass(frozen=True, slots=True)
class Schedule:
    """Fires every full minute; missed fires are made up for once."""

    name: str
    queue: str
    priority: int
    overlap: str
    checked_at: datetime
    id: int = 0
    paused_at: datetime | None = None
    last_due_at: datetime | None = None
    last_job_id: int | None = None
    missed_count: int = 0
    overlapped_count: int = 0

    @property
    def next_fire(self) -> datetime | None:
        if self.paused_at is not None:
            return None
        return self.checked_at.replace(second=0, microsecond=0) + timedelta(minutes=1)


def invalid(why: str) -> Refused:
    return Refused("22023", why)


def must(condition: object, why: str) -> None:
    """What the database answered is something it was free to answer."""
    if not condition:
        raise AssertionError(why)


class Model:
    def __init__(self) -> None:
        self.store = Store()
        self.now = BEGIN
        self.last_place = 0
        self.last_ids = {"job": 0, "worker": 0}
        # What the database answered to the call that is modelled, None if it refused,
        # and what no answer tells, as it stands after the call.
        self.answer: Answer = None
        self.seen_run_ats: dict[int, datetime] = {}
        self.seen_sequences = {"job": 0, "schedule": 0}
        store = self.store
        store.committed["policy", "default"] = Policy(
            "default", timedelta(seconds=5), 2.0, fraction=0.25
        )
        store.committed["queue", "default"] = Queue("default")
        store.committed["lane", "default", 0] = True

    # -- what is there ---------------------------------------------------------------

    def jobs(self) -> list[Job]:
        return self.store.all("job")

    def job(self, id: int) -> Job | None:  # noqa: A002
        found: Job | None = self.store.get("job", id)
        return found

    def live(self, *states: str) -> list[Job]:
        return [j for j in self.jobs() if j.state in (states or LIVE)]

    def workers(self) -> list[Worker]:
        return self.store.all("worker")

    def executions(self) -> list[Execution]:
        """Return the rows of the view executions."""
        ended: list[Execution] = self.store.all("execution")
        return ended + [
            Execution(
                j.id, j.execution, j.attempt, j.worker_id or 0, j.claimed_at or BEGIN,
                j.finished_at, j.state, None,
            )
            for j in self.live("running", "completed")
        ]  # fmt: skip

    def tallies(self, queue: str) -> tuple[int, int]:
        tallied = [t for t in self.store.all("tally") if t[0] == queue]
        return sum(t[1] for t in tallied), sum(t[2] for t in tallied)

    def next_due(self) -> datetime | None:
        due = [j.run_at for j in self.live("scheduled")]
        due += [s.next_fire for s in self.store.all("schedule") if s.next_fire]
        return min(due, default=None)

    def instants(self, verb: str) -> list[datetime]:
        """Return when the verb has something to do, as things stand."""
        jobs, workers = self.live(), self.workers()
        schedules, keys = self.store.all("schedule"), self.store.all("key")
        found: dict[str, list[datetime | None]] = {
            "promote_jobs": [j.run_at for j in jobs if j.state == "scheduled"],
            "reap_workers": [w.heartbeat_at + w.lease for w in workers if w.is_living],
            "time_out_jobs": [j.deadline_at + GRACE for j in jobs if j.deadline_at],
            "purge_keys": [k.expires_at for k in keys],
            "materialize_schedules": [s.next_fire for s in schedules],
        }
        wanted = found.get(verb, [at for ats in found.values() for at in ats])
        return [at for at in wanted if at is not None]

    # -- small parts -----------------------------------------------------------------

    def _put(self, job: Job) -> None:
        self.store.put(job, "job", job.id)

    def _place(self) -> int:
        self.last_place += 1
        return self.last_place

    def _new_id(self, table: str, number: Any) -> int:
        if number is None:  # the database has refused, and so shall we
            number = self.last_ids[table] + 1
        must(number > self.last_ids[table], f"ids of {table}s only grow")
        self.last_ids[table] = number
        return int(number)

    def _queue(self, name: str | None) -> Queue:
        if name is None:
            raise invalid("no queue named")
        queue: Queue | None = self.store.get("queue", name)
        if queue is None:
            raise Refused("RT003", f"no queue {name}")
        return queue

    def _check_policy(self, name: str | None) -> None:
        if name is not None and self.store.get("policy", name) is None:
            raise Refused("42704", f"no retry policy {name}")

    def _lane(self, queue: str, priority: int) -> None:
        """Lanes appear on first use: whoever wants the same new one waits."""
        if self.store.get("lane", queue, priority) is None:
            self.store.put(True, "lane", queue, priority)

    def _living(self, worker: int) -> Worker:
        found: Worker | None = self.store.get("worker", worker)
        if found is None or not found.is_living:
            raise Refused("RT007", f"worker {worker} does not live")
        return found

    def _hold(self, worker: int) -> None:
        """Keep the worker from being reaped or deregistered, but let it beat."""
        self._living(worker)
        self.store.wait_for("strong", worker)
        self.store.mark("hold", worker)

    def _is_worker_locked(self, worker: int) -> bool:
        return any(
            self.store.is_locked(lock, worker) for lock in ("worker", "hold", "strong")
        )

    def _free_key(self, job: Job) -> None:
        if job.idempotency_key is None:
            return
        key = ("key", job.queue, job.idempotency_key)
        held = self.store.get(*key)
        expires_at = self.now + (job.key_ttl or NO_TIME)
        self.store.put(replace(held, expires_at=expires_at), *key)

    def _finish(self, job: Job, state: str) -> None:
        """Into the archive, or into the count of a queue that keeps none."""
        self._free_key(job)
        if self._queue(job.queue).retention == NO_TIME:
            self.store.put(None, "job", job.id)
            tally = (job.queue, int(state == "completed"), int(state == "cancelled"))
            self.store.put(tally, "tally", job.id, job.execution)
            return
        self._put(
            replace(
                job, state=state, finished_at=self.now, timeout=None, deadline_at=None,
                cancel_requested_at=None,
            ),
        )  # fmt: skip

    # -- enqueue ---------------------------------------------------------------------

    def enqueue(
        self,
        kind: str,
        payload: Any,
        queue: str | None = "default",
        priority: int = 0,
        run_at: datetime | None = None,
        delay: timedelta | None = None,
        idempotency_key: str | None = None,
        on_duplicate: str = "keep",
        key_ttl: timedelta | None = None,
        max_attempts: int | None = None,
        retry_policy: str | None = None,
        timeout: timedelta | None = None,
    ) -> Answer:
        found = self._queue(queue)
        self._check_options(on_duplicate, max_attempts)
        self._check_job(run_at, delay)
        self._lane(found.name, priority)
        self._check_policy(retry_policy)
        given = self._given(
            found, kind, payload, priority, run_at, delay, idempotency_key, key_ttl,
            max_attempts, retry_policy, timeout,
        )  # fmt: skip
        number = self.answer[0][0] if self.answer else None
        return [(self._store_given(given, on_duplicate, number)[0],)]

    def enqueue_jobs(
        self,
        kinds: list[str],
        payloads: list[Any],
        queue: str | None = "default",
        priorities: list[int] | None = None,
        run_ats: list[datetime | None] | None = None,
        delays: list[timedelta | None] | None = None,
        idempotency_keys: list[str | None] | None = None,
        on_duplicate: str = "keep",
        key_ttl: timedelta | None = None,
        max_attempts: int | None = None,
        retry_policy: str | None = None,
        timeout: timedelta | None = None,
    ) -> Answer:
        count = len(payloads)
        found = self._queue(queue)
        self._check_policy(retry_policy)
        self._check_options(on_duplicate, max_attempts)
        if len(kinds) not in (1, count):
            raise invalid("arrays of different lengths")
        for number in range(count):
            self._check_job(
                run_ats[number] if run_ats else None, delays[number] if delays else None
            )
        keys = idempotency_keys or [None] * count
        if on_duplicate == "replace":
            for key in sorted({k for k in keys if k is not None}):
                held = self.store.get("key", found.name, key)
                job = held and self.job(held.job_id)
                if job and job.state in LIVE:
                    self.store.lock("job", held.job_id)
        for priority in priorities or [0]:
            self._lane(found.name, priority)
        given = [
            self._given(
                found,
                kinds[number if len(kinds) > 1 else 0],
                payloads[number],
                priorities[number] if priorities else 0,
                run_ats[number] if run_ats else None,
                delays[number] if delays else None,
                keys[number],
                key_ttl,
                max_attempts,
                retry_policy,
                timeout,
            )
            for number in range(count)
        ]
        stored: list[Any] = [None] * count
        answer = self.answer or [(None,)] * count
        must(len(answer) == count, "one row for each job")
        for number in sorted(range(count), key=lambda n: (keys[n] is None, keys[n], n)):
            stored[number] = self._store_given(
                given[number], on_duplicate, answer[number][0]
            )
        return stored

    def _check_options(self, on_duplicate: str, max_attempts: int | None) -> None:
        if on_duplicate not in ("keep", "replace", "reject"):
            raise invalid("on_duplicate")
        if max_attempts is not None and max_attempts <= 0:
            raise invalid("max_attempts")

    def _check_job(self, run_at: datetime | None, delay: timedelta | None) -> None:
        if run_at is not None and delay is not None:
            raise invalid("run_at and delay")
        if delay is not None and delay < NO_TIME:
            raise invalid("delay")

    def _given(
        self,
        queue: Queue,
        kind: str,
        payload: Any,
        priority: int,
        run_at: datetime | None,
        delay: timedelta | None,
        key: str | None,
        key_ttl: timedelta | None,
        max_attempts: int | None,
        policy: str | None,
        timeout: timedelta | None,
    ) -> Job:
        run_at = run_at or self.now + (delay or NO_TIME)
        is_due = run_at <= self.now
        return Job(
            id=0,
            state="queued" if is_due else "scheduled",
            queue=queue.name,
            priority=priority,
            kind=kind,
            payload=payload,
            run_at=run_at,
            created_at=self.now,
            max_attempts=max_attempts or queue.max_attempts,
            timeout=timeout or queue.timeout,
            idempotency_key=key,
            policy=policy,
            key_ttl=key_ttl,
            place=self._place() if is_due else 0,
        )

    def _store_given(
        self, given: Job, on_duplicate: str, number: Any
    ) -> tuple[int, bool]:
        key = ("key", given.queue, given.idempotency_key)
        held: IdempotencyKey | None = None
        if given.idempotency_key is not None:
            held = self.store.get(*key)
        if held and (held.expires_at is None or held.expires_at > self.now):
            if on_duplicate == "reject":
                raise Refused("RT009", f"{key} is taken")
            if on_duplicate == "replace":
                self._replace_job(given, held)
            return held.job_id, False

        if given.idempotency_key is not None:
            self.store.wait_for(*key)
        new = replace(given, id=self._new_id("job", number))
        if given.idempotency_key is not None:
            self.store.put(IdempotencyKey(*key[1:], new.id), *key)
        self._put(new)
        return new.id, True

    def _replace_job(self, given: Job, held: IdempotencyKey) -> None:
        old = self.job(held.job_id)
        if old is None or old.state not in ("scheduled", "queued"):
            raise Refused("RT005", "the job to replace runs or has ended")
        self._put(
            replace(
                given, id=old.id, created_at=old.created_at, execution=old.execution
            )
        )

    # -- work ------------------------------------------------------------------------

    def register_worker(self, name: str, lease: timedelta) -> Answer:
        del name
        number = self._new_id("worker", self.answer[0][0] if self.answer else None)
        self.store.put(Worker(number, lease, self.now), "worker", number)
        return [(number,)]

    def heartbeat(self, worker: int) -> Answer:
        self._beat(self._living(worker))
        return self._cancel_requests(worker)

    def _beat(self, worker: Worker) -> None:
        self.store.wait_for("strong", worker.id)
        self.store.put(replace(worker, heartbeat_at=self.now), "worker", worker.id)

    def _cancel_requests(self, worker: int) -> list[tuple[Any, ...]]:
        return [
            (j.id, j.execution)
            for j in self.live("running")
            if j.worker_id == worker and j.cancel_requested_at
        ]

    def claim_jobs(self, worker: int, queues: list[str], max_jobs: int = 1) -> Answer:
        if max_jobs < 0:
            raise invalid("max_jobs")
        if not queues:
            raise invalid("queues")
        found = [self._queue(name) for name in queues]
        self._living(worker)
        open_queues = {q.name for q in found if q.paused_at is None}
        queued = [j for j in self.live("queued") if j.queue in open_queues]
        if max_jobs == 0 or not queued:
            return []
        self._hold(worker)
        free = [j for j in queued if not self.store.is_locked("job", j.id)]
        order = self._check_order(free, max_jobs, self._claimed_ids())
        for job in order:
            self._put(
                replace(
                    job,
                    state="running",
                    worker_id=worker,
                    claimed_at=self.now,
                    deadline_at=self.now + job.timeout if job.timeout else None,
                    attempt=job.attempt + 1,
                    execution=job.execution + 1,
                )
            )
        return [
            (
                j.id, j.execution + 1, j.attempt + 1, j.max_attempts, j.queue,
                j.priority, j.kind, j.payload, j.timeout, j.run_at, j.created_at,
            )
            for j in order
        ]  # fmt: skip

    def _claimed_ids(self) -> list[int]:
        """Return what the database claimed, with claim_jobs or with exchange."""
        answer = self.answer or []
        if answer and isinstance(answer[0][0], str):
            return [row[1] for row in answer if row[0] == "claimed"]
        return [row[0] for row in answer]

    def _check_order(self, free: list[Job], max_jobs: int, ids: list[int]) -> list[Job]:
        """Highest priority first, handed back ones in front, then by place.

        Of queues with equal priority any may come first, and is then emptied first.
        """
        by_id = {j.id: j for j in free}
        must(
            set(ids) <= set(by_id), f"claimed {ids}, but only {sorted(by_id)} are free"
        )
        must(len(set(ids)) == len(ids), "a job is claimed once")
        must(
            len(ids) == min(max_jobs, len(free)),
            f"claimed {len(ids)} of {len(free)} with a limit of {max_jobs}",
        )
        order = [by_id[number] for number in ids]
        lane: tuple[Any, ...] = ()
        for number, job in enumerate(order):
            left = [j for j in free if j not in order[:number]]
            best = max((j.priority, j.is_front) for j in left)
            equals = [j for j in left if (j.priority, j.is_front) == best]
            begun = [j for j in equals if (*best, j.queue) == lane]
            heads = {
                j.queue: j.id for j in sorted(begun or equals, key=lambda j: -j.place)
            }
            must(
                job.id in heads.values(),
                f"job {job.id} is claimed before {sorted(heads.values())}",
            )
            lane = (*best, job.queue)
        return order

    def complete_jobs(
        self, ids: list[int], executions: list[int], results: list[Any] | None = None
    ) -> Answer:
        if len(ids) != len(executions):
            raise invalid("ids and executions")
        settled = []
        for number, (id, execution) in enumerate(zip(ids, executions, strict=True)):  # noqa: A001
            job = self.job(id)
            if job is None or job.execution != execution:
                continue
            if job.state == "running":
                result = results[number] if results else None
                self.store.wait_for("job", id)
                done = replace(job, result=result, reason=None)
                self._finish(done, "completed")
                settled.append((id,))
            elif job.state == "completed":
                settled.append((id,))
        return settled

    def complete_job(
        self,
        id: int,  # noqa: A002
        execution: int,
        result: Any = None,
    ) -> Answer:
        if not self.complete_jobs(ids=[id], executions=[execution], results=[result]):
            raise self._refusal(id, execution)
        return [("",)]

    def _refusal(self, id: int, execution: int) -> Refused:  # noqa: A002
        job = self.job(id)
        if job is None:
            return Refused("RT002", f"no job {id}")
        is_waiting = job.state in ("scheduled", "queued")
        is_older = execution < job.execution
        if job.execution and (is_older or (execution == job.execution and is_waiting)):
            return Refused("RT001", f"job {id} was handed out again, or back")
        return Refused("RT005", f"job {id} is {job.state}")

    def fail_jobs(
        self,
        ids: list[int],
        executions: list[int],
        errors: list[str],
        retryable: list[bool] | None = None,
        delays: list[timedelta | None] | None = None,
    ) -> Answer:
        self._check_delays([d for d in delays or [] if d is not None])
        tokens = list(zip(ids, executions, strict=True))
        return self._end(tokens, "failed", errors, retryable, delays)

    def fail_job(
        self,
        id: int,  # noqa: A002
        execution: int,
        error: str,
        retryable: bool = True,
        delay: timedelta | None = None,
    ) -> Answer:
        settled = self.fail_jobs(
            ids=[id], executions=[execution], errors=[error],
            retryable=[retryable], delays=[delay],
        )  # fmt: skip
        if not settled:
            raise self._refusal(id, execution)
        return settled

    def release_jobs(self, ids: list[int], executions: list[int]) -> Answer:
        return self._end(list(zip(ids, executions, strict=True)), "released")

    def release_job(
        self, id: int, execution: int  # noqa: A002
    ) -> Answer:  # fmt: skip
        settled = self._end([(id, execution)], "released")
        if not settled:
            raise self._refusal(id, execution)
        return settled

    def snooze_jobs(
        self, ids: list[int], executions: list[int], delays: list[timedelta | None]
    ) -> Answer:
        if None in delays:
            raise invalid("delays")
        self._check_delays(delays)
        tokens = list(zip(ids, executions, strict=True))
        return self._end(tokens, "snoozed", delays=delays)

    def snooze_job(
        self,
        id: int,  # noqa: A002
        execution: int,
        delay: timedelta,
    ) -> Answer:
        settled = self.snooze_jobs(ids=[id], executions=[execution], delays=[delay])
        if not settled:
            raise self._refusal(id, execution)
        return settled

    def _check_delays(self, delays: list[Any]) -> None:
        if any(delay < NO_TIME for delay in delays):
            raise invalid("delays")

    def _end(
        self,
        tokens: list[Token],
        outcomes: str | list[str],
        errors: Sequence[str | None] | None = None,
        retryable: list[bool] | None = None,
        delays: list[timedelta | None] | None = None,
    ) -> list[tuple[Any, ...]]:
        """End executions without finishing their jobs. Tokens that hold nothing are
        passed over, unless the same was said of them before."""
        if isinstance(outcomes, str):
            outcomes = [outcomes] * len(tokens)
        held = []
        for number, (id, execution) in enumerate(tokens):  # noqa: A001
            job = self.job(id)
            if job and job.state == "running" and job.execution == execution:
                self.store.wait_for("job", id)
                held.append((job.place, number, job))

        settled = []
        for _, number, job in sorted(held, key=lambda h: h[:2]):
            ended = self._end_one(
                job,
                outcomes[number],
                errors[number] if errors else None,
                retryable[number] if retryable else True,
                delays[number] if delays else None,
            )
            settled.append((job.id, ended, self._run_at_if_waiting(job.id, ended)))
        done = {job.id for _, _, job in held}
        for (id, execution), outcome in zip(tokens, outcomes, strict=True):  # noqa: A001
            before = self.store.get("execution", id, execution)
            job_now = self.job(id)
            is_repeated = before and before.outcome in (outcome, "cancelled")
            if is_repeated and job_now and id not in done:
                settled.append((id, job_now.state, job_now.run_at))
        return settled

    def _run_at_if_waiting(
        self, id: int, state: str  # noqa: A002
    ) -> datetime | None:  # fmt: skip
        if state in ("dead", "cancelled"):
            return None
        job = self.job(id)
        return job.run_at if job else None

    def _end_one(
        self,
        job: Job,
        outcome: str,
        error: str | None,
        is_retryable: bool,
        delay: timedelta | None,
    ) -> str:
        """Return the state the job is in afterwards."""
        is_charged = outcome in ("failed", "timed_out")
        is_cancelled = job.cancel_requested_at is not None
        assert job.worker_id is not None
        assert job.claimed_at is not None
        noted = "cancelled" if is_charged and is_cancelled else outcome
        ended = Execution(
            job.id, job.execution, job.attempt, job.worker_id, job.claimed_at, self.now,
            noted, error,
        )  # fmt: skip
        self.store.put(ended, "execution", job.id, job.execution)

        lost_count = job.lost_count + (outcome == "lost")
        attempt = job.attempt if is_charged else job.attempt - 1
        queue = self._queue(job.queue)
        if is_cancelled:
            self._finish(job, "cancelled")
            return "cancelled"
        reason = None
        if is_charged and not is_retryable:
            reason = "not_retryable"
        elif is_charged and job.attempt >= job.max_attempts:
            reason = "attempts_exhausted"
        elif outcome == "lost" and lost_count >= queue.max_lost:
            reason = "worker_lost"
        if reason:
            self._free_key(job)
            dead = replace(
                job, state="dead", attempt=attempt, lost_count=lost_count,
                finished_at=self.now, reason=reason, error=error, deadline_at=None,
            )  # fmt: skip
            self._put(dead)
            return "dead"

        due = self._due_after(job, outcome, delay)
        is_due = due <= self.now
        state = "queued" if is_due else "scheduled"
        waiting = replace(
            job, state=state, attempt=attempt, lost_count=lost_count, run_at=due,
            is_front=outcome in ("released", "lost"),
            place=self._place() if is_due else 0,
            worker_id=None, claimed_at=None, deadline_at=None,
        )  # fmt: skip
        self._put(waiting)
        return state

    def _due_after(self, job: Job, outcome: str, delay: timedelta | None) -> datetime:
        if outcome in ("released", "lost"):
            return job.run_at
        if delay is not None:
            return self.now + delay
        name = job.policy or self._queue(job.queue).policy
        policy: Policy = self.store.get("policy", name)
        shortest, longest = policy.delays(job.attempt)
        run_at = self.seen_run_ats.get(job.id, self.now)
        must(
            self.now + shortest <= run_at <= self.now + longest,
            f"a delay of {run_at - self.now} is not from {shortest} to {longest}",
        )
        return run_at

    def deregister_worker(self, worker: int) -> Answer:
        if self.store.get("worker", worker) is not None:
            if self._is_worker_locked(worker):
                self.store.wait_for("worker", worker)
                self.store.wait_for("hold", worker)
                self.store.wait_for("strong", worker)
            self.store.mark("strong", worker)
        found = self._living(worker)
        tokens = self._running(worker)
        self._end(tokens, "released")
        self.store.put(replace(found, ended_at=self.now), "worker", worker)
        return [(len(tokens),)]

    def _running(self, worker: int) -> list[Token]:
        return [
            (j.id, j.execution) for j in self.live("running") if j.worker_id == worker
        ]

    def release_stray_jobs(
        self, worker: int, ids: list[int], executions: list[int]
    ) -> Answer:
        self._hold(worker)
        known = set(zip(ids, executions, strict=True))
        stray = [t for t in self._running(worker) if t not in known]
        return self._end(stray, "released")

    def exchange(
        self,
        worker: int,
        queues: list[str],
        max_jobs: int = 0,
        completed_ids: list[int] | None = None,
        completed_executions: list[int] | None = None,
        returned: list[dict[str, Any]] | None = None,
    ) -> Answer:
        found = self._living(worker)
        if found.heartbeat_at <= self.now - found.lease / 6:
            self._beat(found)
        if max_jobs > 0 and (completed_ids is not None or returned is not None):
            self._hold(worker)
        if completed_ids is not None and returned is not None:
            for id in completed_ids + [r["id"] for r in returned]:  # noqa: A001
                job = self.job(id)
                if job and job.state in LIVE:
                    self.store.lock("job", id)

        refused: list[Token] = []
        if completed_ids is not None and completed_executions is not None:
            completed = self.complete_jobs(
                ids=completed_ids, executions=completed_executions
            )
            refused += self._unsettled(
                list(zip(completed_ids, completed_executions, strict=True)), completed
            )
        if returned is not None:
            tokens = [(r["id"], r["execution"]) for r in returned]
            ended = self._end(
                tokens,
                [r["outcome"] for r in returned],
                [r.get("error") for r in returned],
                [r.get("retryable", True) for r in returned],
                [
                    None if r.get("delay") is None else timedelta(seconds=r["delay"])
                    for r in returned
                ],
            )
            refused += self._unsettled(tokens, ended)
        cancels = self._cancel_requests(worker)
        claimed = self.claim_jobs(worker=worker, queues=queues, max_jobs=max_jobs)
        nothing = (None,) * 9
        return [
            *(("refused", *token, *nothing) for token in refused),
            *(("cancel", *token, *nothing) for token in cancels),
            *(("claimed", *row) for row in claimed or []),
            ("next", *nothing, self.next_due(), None),
        ]

    def _unsettled(self, tokens: list[Token], settled: Answer) -> list[Token]:
        ids = {row[0] for row in settled or []}
        return [token for token in tokens if token[0] not in ids]

    # -- maintain --------------------------------------------------------------------

    def promote_jobs(self, max_jobs: int = 1000) -> Answer:
        due = [
            j
            for j in self.live("scheduled")
            if j.run_at <= self.now and not self.store.is_locked("job", j.id)
        ]
        due = sorted(due, key=lambda j: (j.run_at, j.id))[:max_jobs]
        for job in due:
            self._put(replace(job, state="queued", place=self._place()))
        return [(len(due),)]

    def reap_workers(self, max_jobs: int = 1000) -> Answer:
        expired = [
            w
            for w in self.workers()
            if w.is_living
            and w.heartbeat_at + w.lease <= self.now
            and not self._is_worker_locked(w.id)
        ]
        for worker in expired:
            self.store.mark("strong", worker.id)
            lost = replace(worker, lost_at=self.now)
            self.store.put(lost, "worker", worker.id)

        lost_ids = {w.id for w in self.workers() if w.lost_at and not w.ended_at}
        orphans = [
            (j.id, j.execution)
            for j in self.live("running")
            if j.worker_id in lost_ids and not self.store.is_locked("job", j.id)
        ][:max_jobs]
        errors: list[str | None] = ["worker lost"] * len(orphans)
        self._end(orphans, "lost", errors)
        for number in lost_ids:
            if not self._running(number) and not self.store.is_locked("worker", number):
                gone = replace(self.store.get("worker", number), ended_at=self.now)
                self.store.put(gone, "worker", number)
        return [(len(expired), len(orphans))]

    def time_out_jobs(self) -> Answer:
        late = [
            (j.id, j.execution)
            for j in self.live("running")
            if j.deadline_at
            and j.deadline_at <= self.now - GRACE
            and not self.store.is_locked("job", j.id)
        ]
        errors: list[str | None] = ["timed out, and its worker did not end it"]
        self._end(late, "timed_out", errors * len(late))
        return [(len(late),)]

    def purge_archive(self) -> Answer:
        purged = 0
        for queue in self.store.all("queue"):
            if not queue.retention:
                continue
            cutoff = self.now - queue.retention
            cutoff -= timedelta(seconds=cutoff.timestamp() % 300)
            is_busy = self.store.is_locked("queue", queue.name)
            if queue.purged_before >= cutoff or is_busy:
                continue
            for job in self.live("completed", "cancelled"):
                assert job.finished_at is not None
                if (
                    job.queue == queue.name
                    and queue.purged_before <= job.finished_at < cutoff
                ):
                    self.store.put(None, "job", job.id)
                    purged += 1
            done = replace(queue, purged_before=cutoff)
            self.store.put(done, "queue", queue.name)
        return [(purged,)]

    def purge_keys(self) -> Answer:
        expired = [
            key
            for key in self.store.all("key")
            if key.expires_at
            and key.expires_at <= self.now
            and not self.store.is_locked("key", key.queue, key.key)
        ]
        for key in expired:
            self.store.put(None, "key", key.queue, key.key)
        return [(len(expired),)]

    def purge_workers(self) -> Answer:
        gone = [
            w
            for w in self.workers()
            if w.ended_at and w.ended_at < self.now - WORKER_RETENTION
        ]
        for worker in gone:
            self.store.put(None, "worker", worker.id)
        return [(len(gone),)]

    def maintain(self) -> Answer:
        fired = self.materialize_schedules()
        promoted = self.promote_jobs()
        reaped = self.reap_workers()
        timed_out = self.time_out_jobs()
        purged = self.purge_archive()
        self.purge_keys()
        self.purge_workers()
        assert fired
        assert promoted
        assert reaped
        assert timed_out
        assert purged
        return [
            (
                fired[0][0] + promoted[0][0],
                *reaped[0],
                timed_out[0][0],
                purged[0][0],
                self.next_due(),
            )
        ]

    # -- operate ---------------------------------------------------------------------

    def cancel_jobs(self, ids: list[int], reason: str | None = None) -> Answer:
        settled = []
        for id in sorted(set(ids)):  # noqa: A001
            job = self.job(id)
            if job is None or job.state not in LIVE:
                continue
            self.store.wait_for("job", id)
            if job.state == "running":
                asked = replace(
                    job,
                    cancel_requested_at=job.cancel_requested_at or self.now,
                    reason=job.reason or reason,
                )
                self._put(asked)
                settled.append((id, "running", None))
            else:
                self._finish(replace(job, reason=reason), "cancelled")
                settled.append((id, "cancelled", None))
        return settled

    def cancel_job(
        self,
        id: int,  # noqa: A002
        reason: str | None = None,
    ) -> Answer:
        settled = self.cancel_jobs(ids=[id], reason=reason)
        if not settled:
            job = self.job(id)
            code = "RT005" if job else "RT002"
            raise Refused(code, f"job {id} is {job.state if job else 'not there'}")
        return settled

    def _dead(self, ids: list[int] | None, queue: str | None) -> list[Job]:
        if ids is None and queue is None:
            raise invalid("filter")
        if queue is not None:
            self._queue(queue)
        found = [
            j
            for j in self.live("dead")
            if (ids is None or j.id in ids)
            and (queue is None or j.queue == queue)
            and not self.store.is_locked("job", j.id)
        ]
        for job in found:
            self.store.lock("job", job.id)
        return sorted(found, key=lambda j: (j.finished_at, j.id))

    def replay_dead(
        self,
        ids: list[int] | None = None,
        queue: str | None = None,
        payload_patch: dict[str, Any] | None = None,
    ) -> Answer:
        found = self._dead(ids, queue)
        kept = set()
        for job in sorted(found, key=lambda j: (j.idempotency_key or "", j.id)):
            if job.idempotency_key is None:
                continue
            key = ("key", job.queue, job.idempotency_key)
            held = self.store.get(*key)
            if (
                held
                and held.job_id != job.id
                and (held.expires_at is None or held.expires_at > self.now)
            ):
                kept.add(job.id)
                continue
            self.store.put(IdempotencyKey(*key[1:], job.id), *key)
        revived = []
        for job in found:
            if job.id in kept:
                continue
            self._put(
                replace(
                    job, state="queued", run_at=self.now, attempt=0, lost_count=0,
                    worker_id=None, claimed_at=None, finished_at=None, reason=None,
                    error=None, place=self._place(), is_front=False,
                    payload=job.payload | (payload_patch or {}),
                ),
            )  # fmt: skip
            revived.append((job.id, "queued", self.now))
        return revived

    def purge_dead(
        self, ids: list[int] | None = None, queue: str | None = None
    ) -> Answer:
        found = self._dead(ids, queue)
        for job in found:
            self.store.put(None, "job", job.id)
        return [(len(found),)]

    def create_queue(self, queue: str, **settings: Any) -> Answer:
        policy = settings.pop("retry_policy", "default")
        self._check_policy(policy)
        self.store.wait_for("queue", queue)
        if self.store.get("queue", queue) is not None:
            raise Refused("42710", f"queue {queue} exists")
        new = Queue(queue, policy=policy, **settings)
        self.store.put(new, "queue", queue)
        self._lane(queue, 0)
        return [("",)]

    def alter_queue(self, queue: str, **settings: Any) -> Answer:
        found = self._queue(queue)
        if "retry_policy" in settings:
            settings["policy"] = settings.pop("retry_policy")
            self._check_policy(settings["policy"])
        self.store.put(replace(found, **settings), "queue", queue)
        return [("",)]

    def pause_queue(self, queue: str) -> Answer:
        found = self._queue(queue)
        if found.paused_at is not None:
            return [(False,)]
        self.store.put(replace(found, paused_at=self.now), "queue", queue)
        return [(True,)]

    def resume_queue(self, queue: str) -> Answer:
        found = self._queue(queue)
        if found.paused_at is None:
            return [(False,)]
        self.store.put(replace(found, paused_at=None), "queue", queue)
        return [(True,)]

    def create_retry_policy(
        self,
        policy: str,
        base: timedelta,
        strategy: str = "fixed",
        jitter: str = "none",
    ) -> Answer:
        del strategy, jitter
        self.store.wait_for("policy", policy)
        if self.store.get("policy", policy) is not None:
            raise Refused("42710", f"retry policy {policy} exists")
        self.store.put(Policy(policy, base), "policy", policy)
        return [("",)]

    def alter_retry_policy(self, policy: str, base: timedelta) -> Answer:
        self._check_policy(policy)
        found = self.store.get("policy", policy)
        self.store.put(replace(found, base=base), "policy", policy)
        return [("",)]

    # -- schedules -------------------------------------------------------------------

    def _schedule(self, name: str) -> Schedule:
        found: Schedule | None = self.store.get("schedule", name)
        if found is None:
            raise Refused("42704", f"no schedule {name}")
        self.store.lock("schedule", name)
        return found

    def create_schedule(
        self,
        schedule: str,
        expression: str,
        kind: str,
        queue: str,
        priority: int,
        overlap: str,
    ) -> Answer:
        del expression, kind
        self._queue(queue)
        old: Schedule | None = self.store.get("schedule", schedule)
        if old is None:
            number = self.seen_sequences["schedule"]
            new = Schedule(schedule, queue, priority, overlap, self.now, number)
            self.store.put(new, "schedule", schedule)
            return [("created",)]
        self.store.lock("schedule", schedule)
        if (old.queue, old.priority, old.overlap) == (queue, priority, overlap):
            return [("unchanged",)]
        raise Refused("42710", f"schedule {schedule} exists")

    def pause_schedule(self, schedule: str) -> Answer:
        found = self._schedule(schedule)
        if found.paused_at is not None:
            return [(False,)]
        paused = replace(found, paused_at=self.now)
        self.store.put(paused, "schedule", schedule)
        return [(True,)]

    def resume_schedule(self, schedule: str) -> Answer:
        found = self._schedule(schedule)
        if found.paused_at is None:
            return [(False,)]
        resumed = replace(found, paused_at=None, checked_at=self.now)
        self.store.put(resumed, "schedule", schedule)
        return [(True,)]

    def drop_schedule(self, schedule: str) -> Answer:
        if self.store.get("schedule", schedule) is None:
            return [(False,)]
        self.store.put(None, "schedule", schedule)
        return [(True,)]

    def _is_busy(self, schedule: Schedule) -> bool:
        last = self.job(schedule.last_job_id or 0)
        return schedule.overlap == "skip" and last is not None and last.state in LIVE

    def run_schedule_now(self, schedule: str) -> Answer:
        found = self._schedule(schedule)
        if self._is_busy(found):
            return [(None,)]
        enqueued = self._fire(found, self.now, None)
        fired = replace(found, last_job_id=enqueued)
        self.store.put(fired, "schedule", schedule)
        return [(enqueued,)]

    def materialize_schedules(self) -> Answer:
        count = 0
        for schedule in self.store.all("schedule"):
            fire = schedule.next_fire
            if fire is None or fire > self.now:
                continue
            if self.store.is_locked("schedule", schedule.name):
                continue
            count += self._materialize(schedule)
        return [(count,)]

    def _materialize(self, schedule: Schedule) -> int:
        """Fire for the latest full minute, and count the others as missed."""
        due = self.now.replace(second=0, microsecond=0)
        first = schedule.next_fire
        assert first is not None
        missed = min((due - first) // timedelta(minutes=1) + 1, 1000) - 1
        looked = replace(
            schedule, checked_at=self.now, missed_count=schedule.missed_count + missed
        )
        if self._is_busy(schedule):
            looked = replace(looked, overlapped_count=looked.overlapped_count + 1)
            self.store.put(looked, "schedule", schedule.name)
            return 0
        key = f"schedule:{schedule.id}:{int(due.timestamp())}"
        enqueued = self._fire(schedule, due, key)
        fired = replace(looked, last_due_at=due, last_job_id=enqueued)
        self.store.put(fired, "schedule", schedule.name)
        return 1

    def _fire(self, schedule: Schedule, due: datetime, key: str | None) -> int:
        queue = self._queue(schedule.queue)
        self._lane(queue.name, schedule.priority)
        payload = {
            "schedule": {
                "name": schedule.name, "due_at": due.strftime("%Y-%m-%dT%H:%M:%SZ")
            }
        }  # fmt: skip
        given = self._given(
            queue, "fired", payload, schedule.priority, due, None, key, None, None,
            None, None,
        )  # fmt: skip
        return self._store_given(given, "keep", self.seen_sequences["job"])[0]

    # -- what the views show ---------------------------------------------------------

    def picture(self) -> dict[str, list[tuple[Any, ...]]]:
        """Return what the session's queries would return, section by section."""
        jobs = self.jobs()
        lanes: dict[tuple[Any, ...], list[Job]] = {}
        for job in jobs:
            if job.state == "queued":
                lane = (job.queue, job.priority, job.is_front)
                lanes.setdefault(lane, []).append(job)
        return {
            "jobs": [tuple(getattr(j, name) for name in SHOWN) for j in jobs],
            "lanes": [
                (*lane, [j.id for j in sorted(queued, key=lambda j: j.place)])
                for lane, queued in lanes.items()
            ],
            "executions": [
                tuple(getattr(x, f.name) for f in fields(Execution))
                for x in self.executions()
            ],
            "dead_letters": [
                (j.id, j.queue, j.reason, j.error, j.finished_at, j.idempotency_key)
                for j in jobs
                if j.state == "dead"
            ],
            "keys": [
                (k.queue, k.key, k.job_id, k.expires_at) for k in self.store.all("key")
            ],
            "workers": [
                (w.id, w.lease, w.heartbeat_at, w.lost_at, w.ended_at)
                for w in self.workers()
            ],
            "queues": [
                (
                    q.name,
                    q.paused_at,
                    *(
                        sum(j.queue == q.name and j.state == state for j in jobs)
                        for state in (*LIVE, "dead")
                    ),
                    *self.tallies(q.name),
                )
                for q in self.store.all("queue")
            ],
            "schedules": [
                (
                    s.name,
                    "paused" if s.paused_at else "active",
                    s.next_fire,
                    s.last_due_at,
                    s.last_job_id,
                    s.missed_count,
                    s.overlapped_count,
                )
                for s in self.store.all("schedule")
            ],
        }
