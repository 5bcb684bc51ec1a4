"""Every public verb at random from many sessions: none deadlocks or waits for long."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg.types.json import Jsonb

from sessions import (
    Session,
    be_impatient,
    column,
    let_exchange_wait,
    register,
    rows,
    together,
    value,
)

if TYPE_CHECKING:
    from threading import Barrier

    from conftest import Connect

SESSIONS = 16
# Each session calls every verb so often, and those that move jobs more often.
ROUNDS = 3
BUSY_ROUNDS = 40

BUSY = {
    "enqueue": """
        kind => 'work', queue => %(queue)s, priority => %(priority)s,
        idempotency_key => %(key)s, on_duplicate => %(on_duplicate)s,
        key_ttl => %(ttl)s, delay => %(delay)s, max_attempts => %(count)s
        """,
    "enqueue_jobs": """
        kinds => '{work}', payloads => %(payloads)s, queue => %(queue)s,
        idempotency_keys => %(keys)s, on_duplicate => %(on_duplicate)s
        """,
    "claim_jobs": "worker => %(worker)s, queues => %(queues)s, max_jobs => %(count)s",
    "exchange": """
        worker => %(worker)s, queues => %(queues)s, max_jobs => %(count)s,
        completed_ids => %(first_ids)s,
        completed_executions => %(first_executions)s, returned => %(returned)s
        """,
    "complete_jobs": "ids => %(ids)s, executions => %(executions)s",
    "fail_jobs": """
        ids => %(ids)s, executions => %(executions)s, errors => %(errors)s,
        retryable => %(retryable)s
        """,
    "release_jobs": "ids => %(ids)s, executions => %(executions)s",
    "snooze_jobs": "ids => %(ids)s, executions => %(executions)s, delays => %(delays)s",
    "cancel_jobs": "ids => %(some)s",
    "replay_dead": "queue => %(queue)s, max_jobs => %(count)s",
    "maintain": "max_jobs => %(count)s",
}
VERBS = BUSY | {
    "alter_queue": "queue => %(queue)s, max_lost => %(count)s",
    "alter_retry_policy": "policy => 'default', base => '10 ms', cap => '50 ms'",
    "alter_schedule": "schedule => %(schedule)s, queue => %(queue)s",
    "alter_settings": "timeout_grace => '1 s'",
    "cancel_job": "id => %(job)s",
    "complete_job": "id => %(job)s, execution => %(execution)s",
    "create_queue": "queue => %(queue)s",
    "create_retry_policy": "policy => %(policy)s",
    "create_schedule": """
        schedule => %(schedule)s, expression => '@every 1s', kind => 'work',
        queue => %(queue)s, overlap => %(overlap)s, replace => true
        """,
    "cron_describe": "expression => '@daily'",
    "cron_next": "expression => '@daily'",
    "deregister_worker": "worker => %(worker)s",
    "drop_schedule": "schedule => %(schedule)s",
    "enqueuers_in_flight": "",
    "ensure_partitions": "",
    "explain_schedule": "schedule => '@daily'",
    "fail_job": "id => %(job)s, execution => %(execution)s, error => 'e'",
    "fold_tally": "",
    "heartbeat": "worker => %(worker)s",
    "mark_busy": "queues => %(queues)s",
    "mark_idle": "queues => %(queues)s",
    "materialize_schedules": "",
    "pause_queue": "queue => %(queue)s",
    "pause_schedule": "schedule => %(schedule)s",
    "promote_jobs": "max_jobs => %(count)s",
    "purge_archive": "",
    "purge_dead": "ids => %(some)s",
    "purge_keys": "max_keys => %(count)s",
    "purge_workers": "",
    "reap_workers": "max_jobs => %(count)s",
    "register_worker": "name => 'other'",
    "release_job": "id => %(job)s, execution => %(execution)s",
    "release_stray_jobs": """
        worker => %(worker)s, ids => %(ids)s, executions => %(executions)s
        """,
    "resume_queue": "queue => %(queue)s",
    "resume_schedule": "schedule => %(schedule)s",
    "run_schedule_now": "schedule => %(schedule)s",
    "snooze_job": """
        id => %(job)s, execution => %(execution)s, delay => '10 ms'
        """,
    "time_out_jobs": "max_jobs => %(count)s",
}
# Somebody else was faster: a job has moved on, a worker is lost, a name is taken or
# gone.
REFUSALS = {"RT001", "RT002", "RT005", "RT007", "42704", "42710"}


class Player:
    """One session that calls verbs at random and remembers what it holds."""

    def __init__(self, session: Session, number: int) -> None:
        self.session = session
        self.dice = random.Random(number)
        self.worker = register(session, "300 milliseconds")
        self.called: set[str] = set()
        be_impatient(session)

    def play(self) -> None:
        turns = [*VERBS] * ROUNDS + [*BUSY] * BUSY_ROUNDS
        self.dice.shuffle(turns)
        for verb in turns:
            try:
                rows(
                    self.session,
                    f"select * from rota.{verb}({VERBS[verb]})",
                    **self.values(),
                )
            except psycopg.Error as error:
                if error.sqlstate not in REFUSALS:
                    raise AssertionError(f"{verb}: {error}") from error
                if error.sqlstate == "RT007":
                    self.worker = register(self.session, "300 milliseconds")
            if verb == "deregister_worker":
                self.worker = register(self.session, "300 milliseconds")
            self.called.add(verb)

    def values(self) -> dict[str, Any]:
        """Make arguments up, from what there is: in no order, so verbs must sort."""
        choice, count = self.dice.choice, self.dice.randint(1, 8)
        held = rows(
            self.session,
            "select id, execution from rota.job where worker_id = %(worker)s",
            worker=self.worker,
        )
        self.dice.shuffle(held)
        cut = self.dice.randint(0, len(held))
        known = column(self.session, "select id from rota.jobs limit 300") or [0]
        job, execution = choice(held or [(choice(known), 1)])
        keys = [choice([*"abcdefgh", None]) for _ in range(count)]
        returned = [
            {
                "id": i,
                "execution": e,
                "outcome": choice(("failed", "released", "snoozed")),
                "delay": 0.01,
                "retryable": self.dice.random() < 0.5,
            }
            for i, e in held[cut:]
        ]
        return {
            "worker": self.worker,
            "queue": choice(("default", "other")),
            "queues": ["default", "other"],
            "priority": self.dice.randint(0, 2),
            "key": choice(keys),
            "keys": keys,
            "on_duplicate": choice(("keep", "replace")),
            "ttl": choice((None, "50 milliseconds")),
            "delay": choice((None, "20 milliseconds")),
            "payloads": [Jsonb(n) for n in range(count)],
            "count": count,
            "first_ids": [i for i, _ in held[:cut]],
            "first_executions": [e for _, e in held[:cut]],
            "returned": Jsonb(returned),
            "ids": [i for i, _ in held],
            "executions": [e for _, e in held],
            "errors": ["e"] * len(held),
            "retryable": [self.dice.random() < 0.5 for _ in held],
            "delays": ["10 milliseconds"] * len(held),
            "some": self.dice.sample(known, min(count, len(known))),
            "job": job,
            "execution": execution,
            "schedule": choice(("one", "two", "three")),
            "policy": choice(("p", "q")),
            "overlap": choice(("allow", "skip")),
        }


def play(session: Session, number: int, _barrier: Barrier) -> set[str]:
    player = Player(session, number)
    player.play()
    return player.called


def test_all_verbs_at_random_deadlock_nowhere(dsn: str, connect: Connect) -> None:
    observer = connect()
    let_exchange_wait(observer)
    observer.execute("select rota.create_queue('other', max_attempts => 2)")
    writing = """
        select f.proname
        from pg_proc as f
        where f.pronamespace = 'rota'::regnamespace
            and f.proname !~ '^_'
            and f.provolatile = 'v'
        """
    assert {*column(observer, writing)} == VERBS.keys()
    assert together(dsn, SESSIONS, play) == [VERBS.keys()] * SESSIONS
    deadlocks = """
        select deadlocks from pg_stat_database where datname = current_database()
        """
    assert value(observer, deadlocks) == 0
