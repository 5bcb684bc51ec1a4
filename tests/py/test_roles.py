"""Each role may do its own work and nothing else, tried out with real logins.

Every function, view, table and sequence of the schema is tried by every role: a call
that is not granted is refused with 42501 before it runs, one that is granted gets as
far as the function's own checks.
"""

from __future__ import annotations

import os
import secrets
from contextlib import closing
from typing import TYPE_CHECKING

import psycopg
import pytest
from psycopg import errors, sql
from psycopg.conninfo import make_conninfo

from rota import scripts
from sessions import Session, column, rows, value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conftest import Connect

EVERYBODY = {"version", "cron_next", "cron_describe", "explain_schedule"}
PRODUCER = {"enqueue", "enqueue_jobs"}
MAINTENANCE = {
    *("maintain", "promote_jobs", "reap_workers", "time_out_jobs", "fold_tally"),
    *("ensure_partitions", "purge_archive", "purge_keys", "purge_workers"),
    *("materialize_schedules", "create_schedule"),
}
WORKER = {
    *("register_worker", "claim_jobs", "heartbeat", "deregister_worker", "exchange"),
    *("complete_job", "fail_job", "release_job", "snooze_job"),
    *("complete_jobs", "fail_jobs", "release_jobs", "snooze_jobs"),
    *("release_stray_jobs", "mark_idle", "mark_busy", "enqueuers_in_flight"),
}
OPERATOR = {
    *("create_queue", "alter_queue", "pause_queue", "resume_queue", "alter_settings"),
    *("create_retry_policy", "alter_retry_policy", "alter_schedule", "pause_schedule"),
    *("resume_schedule", "drop_schedule", "run_schedule_now"),
    *("cancel_job", "cancel_jobs", "replay_dead", "purge_dead"),
}
VIEWS = {
    *("jobs", "executions", "queue_stats", "worker_status", "dead_letters"),
    *("queue_settings", "retry_policies", "settings", "schedule_status"),
}
FUNCTIONS: dict[str, set[str]] = {
    "nobody": set(),
    "rota_producer": EVERYBODY | PRODUCER,
    "rota_worker": EVERYBODY | WORKER | MAINTENANCE,
    "rota_operator": EVERYBODY | OPERATOR | MAINTENANCE | PRODUCER,
    "rota_observer": EVERYBODY,
}
MAY_LOOK = ("rota_operator", "rota_observer")

ALL_CALLS = """
select
    f.proname,
    format(
        'select rota.%I(%s)',
        f.proname,
        (
            select string_agg('null::' || format_type(a.type, null), ', ' order by a.n)
            from unnest(f.proargtypes) with ordinality as a (type, n)
        )
    )
from pg_proc as f
where f.pronamespace = 'rota'::regnamespace
order by f.proname
"""
RELATIONS = """
select c.relname
from pg_class as c
where c.relnamespace = 'rota'::regnamespace and c.relkind = any (%(kinds)s)
order by c.relname
"""


@pytest.fixture(params=FUNCTIONS)
def login(
    request: pytest.FixtureRequest, connect: Connect, dsn: str
) -> Iterator[tuple[str, Session]]:
    """A session of a fresh login that is a member of one role, or of none."""
    admin = connect()
    name = sql.Identifier(f"rota_test_login_{os.getpid()}")
    password = secrets.token_hex()
    admin.execute(sql.SQL("create role {} login password {}").format(name, password))
    try:
        if request.param != "nobody":
            admin.execute(
                sql.SQL("grant {} to {}").format(sql.Identifier(request.param), name)
            )
        conninfo = make_conninfo(
            dsn, user=f"rota_test_login_{os.getpid()}", password=password
        )
        with closing(psycopg.connect(conninfo, autocommit=True)) as session:
            yield request.param, session
    finally:
        admin.execute(sql.SQL("drop role {}").format(name))


def refusal(session: Session, statement: str) -> str | None:
    """Try the statement and undo it; returns the error's code."""
    try:
        with session.transaction(force_rollback=True):
            session.execute(statement.encode())
    except psycopg.Error as error:
        return error.sqlstate
    return None


def is_allowed(session: Session, statement: str) -> bool:
    """Any complaint but the lack of a privilege is the statement's own affair."""
    return refusal(session, statement) != errors.InsufficientPrivilege.sqlstate


def test_a_role_calls_its_own_functions_only(
    login: tuple[str, Session], connect: Connect
) -> None:
    role, session = login
    calls = rows(connect(), ALL_CALLS)
    assert len(calls) > len(set().union(*FUNCTIONS.values()))
    allowed = {name for name, call in calls if is_allowed(session, call)}
    assert allowed == FUNCTIONS[role]


def test_views_are_for_looking_and_for_those_who_may_look(
    login: tuple[str, Session], connect: Connect
) -> None:
    role, session = login
    views = column(connect(), RELATIONS, kinds=["v", "m"])
    assert set(views) == VIEWS
    for view in views:
        look = f"select * from rota.{view}"
        assert is_allowed(session, look) is (role in MAY_LOOK), view
        for change in ("insert into rota.{} default values", "delete from rota.{}"):
            assert refusal(session, change.format(view)), view


def test_nobody_touches_a_table_or_sequence(
    login: tuple[str, Session], connect: Connect
) -> None:
    _, session = login
    observer = connect()
    tables = column(observer, RELATIONS, kinds=["r", "p"])
    assert {"job", "worker", "archive", "attempt"} <= set(tables)
    for table in tables:
        some = value(
            observer,
            """
            select a.attname
            from pg_attribute as a
            where a.attrelid = %(table)s::regclass and a.attnum = 1
            """,
            table=f"rota.{table}",
        )
        for statement in (
            f"select from rota.{table}",
            f"select {some} from rota.{table}",
            f"insert into rota.{table} default values",
            f"update rota.{table} set {some} = default",
            f"delete from rota.{table}",
            f"truncate rota.{table} cascade",
            f"lock table rota.{table} in access exclusive mode",
            f"alter table rota.{table} add column mine text",
            f"drop table rota.{table} cascade",
        ):
            assert not is_allowed(session, statement), statement
    for sequence in column(observer, RELATIONS, kinds=["S"]):
        for call in ("nextval('rota.{}')", "setval('rota.{}', 1)"):
            statement = f"select {call.format(sequence)}"
            assert not is_allowed(session, statement), statement
        assert not is_allowed(session, f"select last_value from rota.{sequence}")


def test_nobody_puts_things_into_the_schema(login: tuple[str, Session]) -> None:
    _, session = login
    for statement in (
        "create table rota.mine (i integer)",
        "create function rota.mine() returns integer language sql return 1",
        "create or replace function rota.version() returns text language sql return ''",
        "alter schema rota rename to mine",
        "drop schema rota cascade",
    ):
        assert not is_allowed(session, statement), statement


def test_roles_together_take_a_job_from_end_to_end(connect: Connect) -> None:
    """What one role may call works for it down to the last table it touches."""
    sessions: dict[str, Session] = {}
    for role in ("producer", "worker", "operator", "observer"):
        sessions[role] = connect()
        sessions[role].execute(
            sql.SQL("set role {}").format(sql.Identifier(f"rota_{role}"))
        )
    jobs = column(
        sessions["producer"],
        """
        select e.id
        from rota.enqueue_jobs(
            kinds => '{work}', payloads => '{1,2,3,4}', idempotency_keys => '{a,b,c,d}'
        ) as e
        """,
    )
    worker = sessions["worker"]
    identity = value(worker, "select rota.register_worker(name => 'tester')")
    claimed = column(
        worker,
        "select c.id from rota.claim_jobs(worker => %(w)s, max_jobs => 4) as c",
        w=identity,
    )
    assert claimed == jobs
    worker.execute("select rota.complete_job(%s, 1, '{}')", jobs[:1])
    worker.execute("select rota.fail_job(%s, 1, 'x', false)", jobs[1:2])
    worker.execute("select rota.release_job(%s, 1)", jobs[2:3])
    worker.execute("select rota.snooze_job(%s, 1, '1 hour')", jobs[3:])
    worker.execute("select rota.maintain()")
    operator = sessions["operator"]
    operator.execute("select rota.cancel_job(%s)", jobs[3:])
    operator.execute("select rota.replay_dead(queue => 'default')")
    operator.execute("select rota.create_queue(queue => 'new')")
    operator.execute("select rota.maintain()")
    assert rows(
        sessions["observer"], "select id, state from rota.jobs order by id"
    ) == [
        (jobs[0], "completed"),
        (jobs[1], "queued"),
        (jobs[2], "queued"),
        (jobs[3], "cancelled"),
    ]


def test_an_upgrade_takes_back_what_others_granted_on_tables(connect: Connect) -> None:
    """The grants are replayed: they begin with taking everything away."""
    session = connect()
    tables = column(session, RELATIONS, kinds=["r", "p", "S"])
    names = sql.SQL(", ").join(sql.Identifier("rota", name) for name in tables)
    loose = sql.SQL("grant select on {} to rota_worker, public").format(names)
    readable = """
        select c.relname
        from pg_class as c
        where c.relnamespace = 'rota'::regnamespace
            and c.relkind = any (%(kinds)s)
            and has_table_privilege('rota_worker', c.oid, 'select')
        """
    session.execute(loose)
    assert column(session, readable, kinds=["r", "p", "S"]) != []
    for name in ("revokes.sql", "grants.sql"):
        session.execute((scripts.source() / name).read_bytes())
    assert column(session, readable, kinds=["r", "p", "S"]) == []
