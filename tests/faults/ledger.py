"""What happened, by the account of those who did it, held against the database's."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    import psycopg

Token: TypeAlias = tuple[int, int]

# The attempt in which a job of each kind is completed, however often it was handed out:
# what others broke is not charged. Those whose handlers use connections may fail more.
ATTEMPTS = {"plain": 1, "thread": 1, "flaky": 2, "blocking": 1}
POSTED = ("posted", "posted_async")
# How an execution may end after the handler had its effect.
LOSSES = ("lost", "timed_out")


@dataclass(frozen=True, slots=True)
class Trail:
    """What the handlers wrote down: how often each execution began, and had effect."""

    begun: Counter[Token]
    effects: Counter[Token]

    @classmethod
    def read(cls, folder: Path) -> Trail:
        counts: dict[str, Counter[Token]] = {"began": Counter(), "effect": Counter()}
        for path in folder.glob("*.ledger"):
            for line in path.read_text().splitlines():
                word, job, execution = line.split()
                counts[word][int(job), int(execution)] += 1
        return cls(counts["began"], counts["effect"])


@dataclass(frozen=True, slots=True)
class Account:
    """What the database says of all its jobs, and the effects that it keeps itself."""

    # kind, state, attempt, execution, result
    states: Mapping[int, tuple[str, str, int, int, int | None]]
    keys: Counter[str]
    outcomes: Mapping[int, Counter[str]]
    postings: Counter[int]

    @classmethod
    def read(cls, connection: psycopg.Connection[Any]) -> Account:
        jobs = connection.execute(
            "select id, kind, state, attempt, execution, result, idempotency_key"
            " from rota.jobs"
        ).fetchall()
        outcomes: dict[int, Counter[str]] = {}
        for job, outcome in connection.execute(
            "select job_id, outcome from rota.executions"
        ):
            outcomes.setdefault(job, Counter())[outcome] += 1
        postings = connection.execute("select job_id from ledger.posting").fetchall()
        return cls(
            {job[0]: job[1:6] for job in jobs},
            Counter(job[6] for job in jobs if job[6]),
            outcomes,
            Counter(job for (job,) in postings),
        )


@dataclass(slots=True)
class Verdict:
    """What is wrong: jobs lost, jobs done twice, and whatever else, as sentences."""

    lost: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)
    other: list[str] = field(default_factory=list)

    def __bool__(self) -> bool:
        return not (self.lost or self.doubled or self.other)


def judge(
    acknowledged: Mapping[int, str],
    expected: Mapping[int, str],
    trail: Trail,
    account: Account,
) -> Verdict:
    """Hold all accounts against one another.

    acknowledged: the kind of each job that an enqueue has returned.
    expected: the state of those that are not completed in the end.
    """
    verdict = Verdict()
    for job, kind in acknowledged.items():
        wanted = expected.get(job, "completed")
        if job not in account.states:
            verdict.lost.append(f"{kind} {job} is nowhere")
        elif (state := account.states[job][1]) != wanted:
            verdict.lost.append(f"{kind} {job} is {state}, not {wanted}")
    for key, count in account.keys.items():
        if count > 1:
            verdict.doubled.append(f"key {key} has {count} jobs")
    for token, count in trail.begun.items():
        if count > 1:
            verdict.doubled.append(f"execution {token} began {count} times")
        if token[0] not in account.states:
            verdict.lost.append(f"job {token[0]} ran, and is nowhere")
        elif token[1] > account.states[token[0]][3]:
            verdict.other.append(f"execution {token} ran, and is not known")
    effects: Counter[int] = Counter()
    for token, count in trail.effects.items():
        effects[token[0]] += count
    for job, (kind, state, attempt, execution, result) in account.states.items():
        verdict.doubled += _excesses(
            f"{kind} {job}",
            kind,
            state,
            account.outcomes.get(job, Counter()),
            effects[job],
            account.postings[job],
        )
        if state == "completed" and result != execution:
            verdict.doubled.append(
                f"execution {execution} of {kind} {job} was completed by {result}"
            )
        if state == "completed" and attempt != ATTEMPTS.get(kind, attempt):
            verdict.other.append(f"{kind} {job} was completed in attempt {attempt}")
        if state == "completed" and kind in ATTEMPTS and not effects[job]:
            verdict.lost.append(f"{kind} {job} is completed, and had no effect")
    return verdict


def _excesses(
    name: str,
    kind: str,
    state: str,
    outcomes: Counter[str],
    effects: int,
    postings: int,
) -> Iterable[str]:
    if outcomes["completed"] != (state == "completed"):
        yield f"{name} is {state}, {outcomes['completed']} executions completed"
    if kind in POSTED and postings != (state == "completed"):
        yield f"{name} is {state}, with {postings} postings"
    losses = sum(outcomes[loss] for loss in LOSSES)
    if effects > 1 + losses:
        yield f"{name} had {effects} effects with {losses} losses"
