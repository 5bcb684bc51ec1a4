"""Each invariant can be broken, and says so."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from invariants import QUERY, violations
from sessions import claim, column, rows

if TYPE_CHECKING:
    from conftest import Connect

# Jobs 1 and 2 run, 1 with a deadline and an earlier execution that was released; 3 is
# queued and has a key, 4 is scheduled, 5 is dead.
HISTORY = """
select rota.register_worker('w', '1 hour');
select rota.enqueue('k', timeout => '1 minute');
select rota.enqueue('k');
select c.id from rota.claim_jobs(1) as c;
select rota.release_job(1, 1);
select c.id from rota.claim_jobs(1, max_jobs => 2) as c;
select rota.enqueue('k', idempotency_key => 'key');
select rota.enqueue('k', delay => '1 hour');
select rota.enqueue('k', priority => 1);
select c.id from rota.claim_jobs(1) as c;
select rota.fail_job(5, 1, 'error', retryable => false);
"""
# A floor of tomorrow, believed until tomorrow.
FLOOR = """
select set_config('rota.{}_floor', array[t.tomorrow, t.tomorrow]::text, true)
from (
    select (extract(epoch from rota._now() + interval '1 day') * 1000000)::bigint
) as t (tomorrow)
"""

BREAKAGES = {
    "a job is in one place": """
        with revived as (select * from rota.dead_letter)
        insert into rota.job (
            id, run_at, created_at, lane_id, max_attempts, execution, state, kind,
            payload
        ) overriding system value
        select
            id, run_at, created_at, lane_id, max_attempts, execution, 'scheduled',
            kind, payload
        from revived
        """,
    "every job is shown by the view jobs, once": "delete from rota.lane",
    "every job belongs to a lane of a queue": "delete from rota.lane",
    "executions are numbered without gaps and repetitions": """
        update rota.job set execution = 3 where id = 1
        """,
    "an execution ends after it starts, and starts after the last one ended": """
        update rota.attempt set finished_at = started_at - interval '1 s'
        """,
    "no job is charged more attempts than it had, or than it is allowed": """
        update rota.job set attempt = 2 where id = 1
        """,
    "a running job has a worker whose end nobody has noted": """
        update rota.worker set ended_at = rota._now()
        """,
    "a waiting job has no worker, claim, deadline or cancellation": """
        update rota.job set cancel_reason = 'reason' where id = 3
        """,
    "a queued job is due and has a position": """
        update rota.job set run_at = rota._now() + interval '1 s' where id = 3
        """,
    "no two queued jobs have one position": """
        update rota.job set state = 'queued', position = 3, run_at = created_at
        where id in (3, 4)
        """,
    "no floor is above a queued position": """
        update rota.lane set floor = 1 + (select last_value from rota.position_seq)
        """,
    "no scheduled job is due before the floor of its time": FLOOR.format("due"),
    "no deadline is before the floor of deadlines": FLOOR.format("deadline"),
    "a key of a live job is that job's": "update rota.idempotency_key set job_id = 4",
    "no two live jobs of a queue have one key": """
        update rota.job set idempotency_key = 'key' where id = 4
        """,
    "a key belongs to a live job exactly while it does not expire": """
        update rota.idempotency_key set expires_at = rota._now()
        """,
    "a lost worker does not beat, an ended one does not live": """
        update rota.worker set lost_at = heartbeat_at - interval '1 s'
        """,
    "what is dead has died of something": """
        update rota.dead_letter set reason = 'worker_lost'
        """,
    "queue_stats counts what the view jobs shows": """
        create or replace view rota.queue_stats as
        select
            q.name as queue, q.paused_at, 9::bigint as scheduled_count,
            0::bigint as queued_count, 0::bigint as running_count,
            0::bigint as dead_count, interval '0' as oldest_due_age,
            0::bigint as unarchived_completed_count,
            0::bigint as unarchived_cancelled_count
        from rota.queue as q
        """,
}


def test_each_can_be_broken_and_says_so(connect: Connect) -> None:
    session = connect()
    session.execute(HISTORY.encode())
    states = rows(session, "select id, state from rota.jobs order by id")
    assert states == [
        (1, "running"), (2, "running"), (3, "queued"), (4, "scheduled"), (5, "dead")
    ]  # fmt: skip
    assert violations(session) == []

    named = re.findall(r"union all\s+select\s+'((?:[^']|'')+)'", QUERY)
    named += re.findall(r"select '((?:[^']|'')+)' as invariant", QUERY)
    assert set(BREAKAGES) == {name.replace("''", "'") for name in named}
    for name, breakage in BREAKAGES.items():
        with session.transaction(force_rollback=True):
            session.execute(breakage.encode())
            assert name in {line.split(": ")[0] for line in violations(session)}, name
    assert violations(session) == []


def test_what_was_enqueued_is_accounted_for(connect: Connect) -> None:
    session = connect()
    session.execute("select rota.create_queue('unkept', retention => '0')")
    session.execute("select rota.register_worker('w', '1 hour')")
    session.execute("select rota.enqueue('k', queue => 'unkept')")
    (kept, lost, purged) = column(
        session, "select rota.enqueue('k') from generate_series(1, 3)"
    )
    session.execute("select c.id from rota.claim_jobs(1, '{unkept}') as c")
    session.execute("select rota.complete_job(1, 1)")
    session.execute("select rota.cancel_job(%s)", [kept])
    claim(session, 1, max_jobs=2)
    session.execute("select rota.fail_job(%s, 1, 'e', retryable => false)", [purged])
    session.execute("select rota.purge_dead(array[%s]::bigint[])", [purged])
    everything = [1, kept, lost, purged]
    assert violations(session, everything, purged=1) == []

    session.execute("delete from rota.job where id = %s", [lost])
    assert violations(session, everything, purged=1) == [
        "no job vanishes: 3 are gone, 1 counted as finished and 1 purged"
    ]
    assert violations(session, [1, lost, purged], purged=2) == [
        f"no job appears from nowhere: job {kept}"
    ]
