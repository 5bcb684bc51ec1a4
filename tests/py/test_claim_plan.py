"""The hot verbs touch the rows they work on and no others, however large the table and
whatever the statistics say: the plans of the real functions, through auto_explain."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from psycopg.types.json import Jsonb

from sessions import (
    Session,
    claim,
    column,
    register,
    rows,
    value,
    wait_expired,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from psycopg.errors import Diagnostic

    from conftest import Connect

BATCH = 5
STATISTICS = ("none", "stale", "fresh")
MODES = ("auto", "force_custom_plan", "force_generic_plan")
AUTO_EXPLAIN = {
    "auto_explain.log_min_duration": "0",
    "auto_explain.log_nested_statements": "on",
    "auto_explain.log_analyze": "on",
    "auto_explain.log_timing": "off",
    "auto_explain.log_format": "json",
    "client_min_messages": "log",
}
FILL = """
insert into rota.job (
    position, run_at, created_at, lane_id, max_attempts, state, kind, payload
)
select
    case when g %% 10 > 0 then nextval('rota.position_seq') end,
    now() + case when g %% 10 = 0 then interval '1 hour' else interval '0' end,
    now(),
    (select l.id from rota.lane as l where l.priority = 0),
    10,
    case when g %% 10 = 0 then 'scheduled' else 'queued' end,
    'work',
    '{}'
from generate_series(1, %s) as g
"""


NEWEST = "select id from rota.job where state = %(state)s order by id desc limit 3"
ENQUEUE_KEYED = (
    "select rota.enqueue(kind => 'x', idempotency_key => 'k', priority => -1)"
)
LARGE = ("job", "archive", "attempt", "dead_letter", "idempotency_key")


class Explained:
    """Plans of all statements of a session, nested ones too, from here on."""

    def __init__(self, session: Session) -> None:
        self.plans: list[dict[str, Any]] = []
        session.execute("load 'auto_explain'")
        for name, setting in AUTO_EXPLAIN.items():
            session.execute("select set_config(%s, %s, false)", (name, setting))
        session.add_notice_handler(self.note)

    def note(self, message: Diagnostic) -> None:
        _, _, plan = (message.message_primary or "").partition("plan:\n")
        if plan:
            self.plans.append(json.loads(plan))

    def scans(self) -> list[dict[str, Any]]:
        """Return every node that reads one of the tables that grow."""
        return [
            node
            for plan in self.plans
            for node in nodes(plan["Plan"])
            if node.get("Relation Name", "").startswith(LARGE)
            and "Scan" in node["Node Type"]
        ]

    def hashes_jobs(self) -> bool:
        """Whether some plan would take in the whole table of jobs for a hash join."""
        return any(
            node["Node Type"] == "Hash Join"
            and any(n.get("Relation Name") == "job" for n in nodes(node))
            for plan in self.plans
            for node in nodes(plan["Plan"])
        )

    def compares_all_with_all(self) -> bool:
        """Whether some plan compares each job with everything that was given."""
        return any(
            node["Node Type"] == "Nested Loop"
            and "Join Filter" in node
            and joined(node) == {"job"}
            for plan in self.plans
            for node in nodes(plan["Plan"])
        )

    def plan_of(self, part: str) -> dict[str, Any]:
        (plan,) = [p for p in self.plans if part in p["Query Text"]]
        found: dict[str, Any] = plan["Plan"]
        return found


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for child in plan.get("Plans", ()):
        yield from nodes(child)


def joined(plan: dict[str, Any]) -> set[str]:
    """Return the tables that a plan joins, without those its expressions look into."""
    found = {plan["Relation Name"]} if "Relation Name" in plan else set()
    for child in plan.get("Plans", ()):
        if child["Parent Relationship"] in ("Outer", "Inner"):
            found |= joined(child)
    return found


def way(scan: dict[str, Any]) -> str:
    found: str = scan.get("Index Name", scan["Node Type"])
    return found


def touched(scan: dict[str, Any]) -> float:
    each = scan["Actual Rows"] + scan.get("Rows Removed by Filter", 0)
    return float(each * scan["Actual Loops"])


def fill(session: Session, size: int, statistics: str) -> None:
    session.execute("alter table rota.job set (autovacuum_enabled = off)")
    if statistics == "stale":
        session.execute(FILL, [10])
        session.execute("analyze rota.job")
    session.execute(FILL, [size])
    if statistics == "fresh":
        session.execute("analyze rota.job")


@pytest.fixture(
    params=[
        *((size, statistics) for size in (10, 1000) for statistics in STATISTICS),
        pytest.param((1_000_000, "none"), marks=pytest.mark.slow),
        pytest.param((1_000_000, "fresh"), marks=pytest.mark.slow),
    ],
    ids=lambda given: f"{given[0]}-{given[1]}",
)
def filled(request: pytest.FixtureRequest, connect: Connect) -> Session:
    session = connect()
    fill(session, *request.param)
    return session


# As if so many positions were settled that the claim looks for new floors.
SETTLED = "select set_config('rota.positions', '(1000,0,,,,,,,,0)', false)"


def check_claim(session: Session, explained: Explained, worker: int) -> None:
    with session.transaction(force_rollback=True):
        session.execute(SETTLED)
        assert len(claim(session, worker, BATCH)) == BATCH

    scans = explained.scans()
    assert set(map(way, scans)) == {"Tid Scan", "job_ready_idx"}
    assert max(map(touched, scans)) <= BATCH
    assert explained.plan_of(")::rota._ready_lane")
    plan = explained.plan_of("for update skip locked")
    (found,) = [
        node
        for node in nodes(plan)
        if node["Node Type"] == "Limit" and node["Parent Relationship"] == "Subquery"
    ]
    assert [node["Node Type"] for node in nodes(found)] == [
        "Limit",
        "LockRows",
        "Index Scan",
    ]
    assert list(nodes(found))[-1]["Index Name"] == "job_ready_idx"
    (lanes,) = [node for node in nodes(plan) if node["Node Type"] == "Sort"]
    assert all(node.get("Relation Name") != "job" for node in nodes(lanes))


def test_a_claim_walks_the_ready_index_without_sorting(filled: Session) -> None:
    worker = register(filled)
    explained = Explained(filled)
    for mode in MODES:
        filled.execute("select set_config('plan_cache_mode', %s, false)", [mode])
        explained.plans.clear()
        check_claim(filled, explained, worker)


def test_a_claim_looks_into_no_lane_behind_those_it_takes_from(
    connect: Connect,
) -> None:
    session = connect()
    queues = [f"queue{number}" for number in range(10)]
    for queue in queues:
        session.execute("select rota.create_queue(%s)", [queue])
        session.execute(
            "select rota.enqueue_jobs(%s, '{1,2,3}', %s, priorities => '{0,1,2}')",
            ([f"{queue}, {priority}" for priority in range(3)], queue),
        )
    worker = register(session)
    explained = Explained(session)
    claimed = rows(
        session,
        """
        select c.queue, c.priority, c.kind
        from rota.claim_jobs(%(worker)s, %(queues)s, max_jobs => 15) as c
        """,
        worker=worker,
        queues=queues,
    )
    assert [priority for _, priority, _ in claimed] == [2] * 10 + [1] * 5
    assert all(f"{queue}, {priority}" == kind for queue, priority, kind in claimed)
    assert sorted(queue for queue, _, _ in claimed[:10]) == queues
    # Each has a front lane, which is empty: ten and ten, then ten and five, of sixty.
    looks = [s["Actual Loops"] for s in explained.scans() if way(s) == "job_ready_idx"]
    assert looks == [35]


EXCHANGE = {
    *("Tid Scan", "job_ready_idx", "job_pkey"),
    *("job_due_idx", "job_running_idx"),
}
VERBS = {
    "rota.claim_jobs(%(worker)s, max_jobs => 3)": {"Tid Scan", "job_ready_idx"},
    "rota.complete_jobs(%(ids)s::bigint[], '{1,1,1}')": {"job_pkey"},
    "rota.fail_jobs(%(ids)s::bigint[], '{1,1,1}', '{a,b,c}')": {"job_pkey"},
    "rota.release_jobs(%(ids)s::bigint[], '{1,1,1}')": {"job_pkey"},
    "rota.cancel_jobs(%(ids)s::bigint[])": {"job_pkey"},
    "rota.cancel_jobs(%(queued)s::bigint[])": {"job_pkey"},
    "rota.complete_jobs(%(queued)s::bigint[], '{9,9,9}')": {"job_pkey"},
    "rota.fail_jobs(%(queued)s::bigint[], '{9,9,9}', '{a,b,c}')": {"job_pkey"},
    "rota.snooze_jobs(%(ids)s::bigint[], '{1,1,1}', '{1s,1s,1s}')": {"job_pkey"},
    "rota.release_stray_jobs(%(worker)s, %(ids)s::bigint[], '{1,1,0}')": {
        *("job_pkey", "job_running_idx")
    },
    """rota.exchange(
        %(worker)s, max_jobs => 3,
        completed_ids => %(ids)s::bigint[], completed_executions => '{1,1,1}'
    )""": EXCHANGE,
    """rota.exchange(
        %(worker)s, max_jobs => 3,
        completed_ids => %(ids)s::bigint[], completed_executions => '{1,1,9}',
        returned => %(returned)s
    )""": EXCHANGE,
    "rota.exchange(%(worker)s, returned => %(returned)s)": EXCHANGE,
    "rota.heartbeat(%(worker)s)": {"job_running_idx"},
    "rota.deregister_worker(%(worker)s)": {"job_pkey", "job_running_idx"},
    "rota.promote_jobs()": {"job_due_idx", "job_pkey"},
    "rota.reap_workers()": {"job_pkey", "job_running_idx"},
    "rota.time_out_jobs()": {"job_deadline_idx", "job_pkey"},
    "rota.purge_archive()": set[str](),
    "rota.purge_keys()": set[str](),
    "rota.purge_workers()": {"job_running_idx"},
    "rota.purge_dead(%(dead)s::bigint[])": set[str](),
    "rota.replay_dead(%(dead)s::bigint[])": {"job_pkey"},
    """rota.replay_dead(%(dead)s::bigint[], payload_patch => '{"a": 1}')""": {
        "job_pkey"
    },
    "rota.enqueue(kind => 'x')": set[str](),
    "rota.enqueue(kind => 'x', idempotency_key => 'k', on_duplicate => 'replace')": {
        "job_pkey"
    },
    "rota.maintain()": {
        *("job_deadline_idx", "job_due_idx", "job_pkey", "job_running_idx")
    },
}


FILL_PAST = """
insert into rota.archive (
    id, worker_id, run_at, created_at, claimed_at, finished_at, lane_id, attempt,
    max_attempts, execution, lost_count, state, kind, payload
)
select
    -g, 1, now(), now(), now(), now(), (select max(id) from rota.lane), 1, 1, 1, 0,
    'completed', 'work', '{}'
from generate_series(1, 100000) as g;

insert into rota.attempt (
    job_id, worker_id, started_at, finished_at, execution, attempt, outcome
)
select -g, 1, now(), now(), 1, 1, 'failed'
from generate_series(1, 100000) as g;

insert into rota.dead_letter (
    id, worker_id, run_at, created_at, claimed_at, died_at, lane_id, attempt,
    max_attempts, execution, lost_count, kind, reason, payload
)
select
    -g, 1, now(), now(), now(), now(), (select max(id) from rota.lane), 1, 1, 1, 0,
    'work', 'not_retryable', '{}'
from generate_series(1, 100000) as g;

insert into rota.idempotency_key (queue_id, key, job_id)
select q.id, 'key ' || g, -g
from rota.queue as q, generate_series(1, 100000) as g;
"""


FILL_WORKERS = """
insert into rota.worker (
    registered_at, heartbeat_at, lease_expires_at, ended_at, lease, name
)
select '2000-01-01', '2000-01-01', '2000-01-01', '2000-01-01', '1 minute', 'ended'
from generate_series(1, 20) as g
"""


def strays(session: Session) -> list[tuple[str, str]]:
    """Call each verb on a few jobs of its own; returns what it read beyond those."""
    lost, worker = register(session, "100 milliseconds"), register(session)
    own = [job for job, _ in claim(session, worker, 3)]
    queued = column(session, NEWEST, state="queued")
    returned = [{"id": job, "execution": 1, "outcome": "failed"} for job in own]
    values = {
        "worker": worker,
        "ids": own,
        "queued": queued,
        "returned": Jsonb(returned),
        "dead": [-1, -2, -3],
    }
    assert len(claim(session, lost, 2)) == 2
    assert len(claim(session, register(session), 12)) == 12
    session.execute(FILL_WORKERS)
    due = {"ids": column(session, NEWEST, state="scheduled")}
    session.execute("update rota.job set run_at = now() where id = any (%(ids)s)", due)
    late = "update rota.job set deadline_at = %(then)s where id = any (%(ids)s)"
    session.execute(late, {"ids": own, "then": "2000-01-01"})
    wait_expired(session, lost)

    explained = Explained(session)
    found = []
    for verb, indexes in VERBS.items():
        explained.plans.clear()
        with session.transaction(force_rollback=True):
            rows(session, f"select {verb}", **values)
        if explained.hashes_jobs():
            found.append((verb, "hash join"))
        if explained.compares_all_with_all():
            found.append((verb, "nested loop with a filter"))
        for scan in explained.scans():
            index = way(scan)
            # Each time, it would go through all of them.
            if scan["Actual Loops"] > 1 and "= ANY" in scan.get("Index Cond", ""):
                found.append((verb, f"many ids again for each, by {index}"))
            if touched(scan) > 10 or (
                scan["Relation Name"] == "job"
                and index not in {*indexes, "Bitmap Heap Scan"}
            ):
                found.append((verb, f"{scan['Relation Name']} by {index}"))
    return found


@pytest.mark.parametrize("statistics", STATISTICS)
def test_no_verb_reads_other_jobs_than_its_own(
    connect: Connect, statistics: str
) -> None:
    session = connect()
    session.execute(ENQUEUE_KEYED)
    fill(session, 100_000, statistics)
    session.execute(FILL_PAST)
    if statistics == "fresh":
        session.execute("analyze")
    for mode in MODES:
        session.execute("select set_config('plan_cache_mode', %s, false)", [mode])
        with session.transaction(force_rollback=True):
            assert strays(session) == [], mode


@pytest.mark.parametrize("statistics", ["none", "fresh"])
def test_plans_made_while_the_tables_were_empty_do_no_harm_later(
    connect: Connect, statistics: str
) -> None:
    session = connect()
    session.execute(ENQUEUE_KEYED)
    fill(session, 20, statistics)
    for table in (
        "archive_default",
        "attempt_default",
        "dead_letter",
        "idempotency_key",
    ):
        session.execute(f"alter table rota.{table} set (autovacuum_enabled = off)")
    session.execute("set plan_cache_mode = force_generic_plan")
    with session.transaction(force_rollback=True):
        strays(session)
    session.execute(FILL, [100_000])
    session.execute(FILL_PAST)
    with session.transaction(force_rollback=True):
        assert strays(session) == []


READS_QUEUE = (
    "claimed.id from rota.claim_jobs(worker => %(worker)s) as claimed",
    "said.id from rota.exchange(worker => %(worker)s, max_jobs => 1) as said",
    "rota.heartbeat(worker => %(worker)s)",
    "rota.maintain()",
    "stats.queued_count from rota.queue_stats as stats",
    "count(*) from rota.jobs",
)


def payload_blocks(session: Session) -> int:
    """Return how many blocks of large payloads were read so far."""
    session.execute("select pg_stat_force_next_flush()")
    return int(
        value(
            session,
            """
            select toast_blks_read + toast_blks_hit
            from pg_statio_user_tables
            where relid = 'rota.job'::regclass
            """,
        )
    )


def test_large_payloads_are_read_with_their_own_jobs_only(connect: Connect) -> None:
    session = connect()
    # Not compressed, so that each has more than a hundred blocks of its own.
    session.execute("alter table rota.job alter payload set storage external")
    session.execute("alter table rota.job set (toast.autovacuum_enabled = off)")
    session.execute(
        """
        select rota.enqueue_jobs(
            kinds => array['work'],
            payloads => array(
                select to_jsonb(repeat('x', 1000000)) from generate_series(1, 200)
            )
        )
        """
    )
    worker = register(session)
    claim(session, worker)

    def count(reads: str) -> int:
        before = payload_blocks(session)
        rows(session, f"select {reads}", worker=worker)
        return payload_blocks(session) - before

    assert count("max(length(j.payload::text)) from rota.job as j") > 20_000
    for reads in READS_QUEUE:
        assert count(reads) < 1_000, reads
