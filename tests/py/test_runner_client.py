"""Enqueueing from Python, and the calls the package makes."""

from __future__ import annotations

import ast
import asyncio
import re
import subprocess
import sys
import typing
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from psycopg.rows import dict_row

import rota
from rota import errors, records
from waiting import PATIENCE

if TYPE_CHECKING:
    from conftest import Connect

PACKAGE = Path(rota.__file__).parent
SOON = datetime(2999, 1, 1, tzinfo=UTC)


def count(connection: psycopg.Connection[Any]) -> int:
    row = connection.execute("select count(*) from rota.jobs").fetchone()
    assert row
    return int(row[0])


def test_a_job_appears_with_the_transaction_that_enqueued_it(connect: Connect) -> None:
    ours, theirs = connect(autocommit=False), connect()
    rota.enqueue(ours, "kind")
    assert count(theirs) == 0
    ours.rollback()
    assert count(theirs) == 0
    rota.enqueue(ours, "kind")
    ours.commit()
    assert count(theirs) == 1


def test_options_reach_the_job(connect: Connect) -> None:
    connection = connect(row_factory=dict_row)  # whatever rows the caller likes
    job = rota.enqueue(
        connection,
        "kind",
        {"a": [1, None]},
        priority=-3,
        run_at=SOON,
        idempotency_key="key",
        max_attempts=2,
        timeout=timedelta(minutes=1),
    )
    found = connection.execute("select * from rota.jobs").fetchone()
    assert found
    expected = {
        "id": job,
        "state": "scheduled",
        "queue": "default",
        "payload": {"a": [1, None]},
        "priority": -3,
        "run_at": SOON,
        "idempotency_key": "key",
        "max_attempts": 2,
        "timeout": timedelta(minutes=1),
    }
    assert {name: found[name] for name in expected} == expected
    assert rota.enqueue(connection, "kind", idempotency_key="key") == job


def test_without_a_payload_it_is_an_empty_object(connect: Connect) -> None:
    connection = connect()
    rota.enqueue(connection, "kind")
    rota.enqueue_jobs(connection, [rota.NewJob(kind="kind")])
    rows = connection.execute("select payload from rota.jobs").fetchall()
    assert rows == [({},), ({},)]


def test_many_jobs_in_one_statement(connect: Connect) -> None:
    connection = connect()
    jobs = [
        rota.NewJob(kind=f"kind {n % 2}", payload=n, priority=n, idempotency_key=key)
        for n, key in enumerate(["a", None, "a", "b"])
    ]
    added = rota.enqueue_jobs(connection, jobs, max_attempts=7)
    assert [job.is_new for job in added] == [True, True, False, True]
    assert added[0].id == added[2].id
    rows = connection.execute(
        "select kind, payload, priority, max_attempts from rota.jobs order by priority"
    ).fetchall()
    assert rows == [("kind 0", 0, 0, 7), ("kind 1", 1, 1, 7), ("kind 1", 3, 3, 7)]
    assert rota.enqueue_jobs(connection, []) == []


def test_many_jobs_of_one_kind(connect: Connect) -> None:
    connection = connect()
    rota.enqueue_jobs(connection, [rota.NewJob(kind="k", payload=n) for n in range(3)])
    rows = connection.execute("select kind, payload from rota.jobs order by id")
    assert rows.fetchall() == [("k", 0), ("k", 1), ("k", 2)]


def test_asynchronous_connections(dsn: str, connect: Connect) -> None:
    async def add() -> None:
        async with await psycopg.AsyncConnection.connect(dsn) as connection:
            await rota.enqueue_async(connection, "kind")
            await rota.enqueue_jobs_async(connection, [rota.NewJob(kind="kind")])

    asyncio.run(add())
    assert count(connect()) == 2


NAIVE = datetime(2999, 1, 1)
REFUSED: list[dict[str, Any]] = [
    {"run_at": NAIVE},
    {"run_at": SOON, "delay": timedelta(1)},
    {"delay": timedelta(-1)},
    {"kind": ""},
    {"kind": "a\0b"},
    {"kind": "\ud800"},
    {"kind": None},
    {"payload": "a\0b"},
    {"payload": ["\udfff"]},
    {"payload": {1}},
    {"payload": float("inf")},
    {"priority": 10**6},
    {"priority": 10**12},
    {"idempotency_key": "a\0b"},
    {"max_attempts": 0},
    {"max_attempts": 10**12},
    {"timeout": timedelta(0)},
    {"on_duplicate": "sometimes"},
]


@pytest.mark.parametrize("is_single", [True, False])
def test_what_makes_no_sense_is_refused_and_nothing_stored(
    connect: Connect, is_single: bool
) -> None:
    connection = connect()
    names = {field.name for field in fields(rota.NewJob)}

    def enqueue(job: dict[str, Any]) -> None:
        if is_single:
            rota.enqueue(connection, **job)
            return
        new = rota.NewJob(**{name: job[name] for name in names & set(job)})
        options: Any = {name: job[name] for name in set(job) - names}
        rota.enqueue_jobs(connection, [rota.NewJob(kind="fine"), new], **options)

    for refused in REFUSED:
        with pytest.raises(rota.InvalidArgument) as caught:
            enqueue({"kind": "kind"} | refused)
        assert str(caught.value), refused
    assert count(connection) == 0


def test_an_error_about_one_of_many_jobs_names_it(connect: Connect) -> None:
    connection = connect()
    a_set: Any = {1}
    with pytest.raises(rota.InvalidArgument) as caught:
        rota.enqueue_jobs(
            connection, [rota.NewJob(kind="k"), rota.NewJob(kind="k", payload=a_set)]
        )
    assert "payload of job 2" in str(caught.value.detail)
    with pytest.raises(rota.InvalidArgument) as caught:
        rota.enqueue_jobs(connection, [rota.NewJob(kind="k"), rota.NewJob(kind="")])
    assert "jobs[2].kind" in str(caught.value.detail)


def test_errors_have_classes_and_causes(connect: Connect) -> None:
    connection = connect()
    with pytest.raises(rota.QueueNotFound) as caught:
        rota.enqueue(connection, "kind", queue="no-such")
    assert caught.value.sqlstate == "RT003"
    assert isinstance(caught.value.__cause__, psycopg.Error)
    rota.enqueue(connection, "kind", idempotency_key="key")
    with pytest.raises(rota.DuplicateKey):
        rota.enqueue(connection, "kind", idempotency_key="key", on_duplicate="reject")
    with pytest.raises(rota.TooLarge):
        rota.enqueue(connection, "kind", "x" * 3_000_000)
    with pytest.raises(rota.RetryPolicyNotFound):
        rota.enqueue(connection, "kind", retry_policy="no-such")


def test_errors_of_others_are_passed_on(connect: Connect) -> None:
    connection = connect()
    connection.execute("drop schema rota cascade")
    with pytest.raises(psycopg.errors.InvalidSchemaName):
        rota.enqueue(connection, "kind")


@pytest.mark.parametrize("zone", ["UTC", "Asia/Kathmandu", "America/St_Johns"])
def test_the_session_time_zone_does_not_matter(connect: Connect, zone: str) -> None:
    connection = connect()
    connection.execute("select set_config('TimeZone', %s, false)", [zone])
    connection.execute("set datestyle = 'German'")
    rota.enqueue(connection, "kind", delay=timedelta(seconds=60))
    rota.enqueue(connection, "kind", run_at=SOON)
    assert connection.execute(
        "select run_at - created_at = '60 seconds' from rota.jobs order by id limit 1"
    ).fetchone() == (True,)
    row = connection.execute("select max(run_at) at time zone 'UTC' from rota.jobs")
    assert row.fetchone() == (SOON.replace(tzinfo=None),)


@pytest.mark.parametrize(
    ("record", "composite"),
    [
        (records.EnqueuedJob, "enqueued_job"),
        (records.JobRef, "job_ref"),
        (records.SettledJob, "settled_job"),
        (records.ClaimedJob, "claimed_job"),
        (records.Maintained, "maintained"),
    ],
)
def test_records_have_the_attributes_of_their_types(
    connect: Connect, record: type, composite: str
) -> None:
    attributes = connect().execute(
        "select attname from pg_attribute"
        " where attrelid = %s::regclass and attnum > 0 and not attisdropped"
        " order by attnum",
        [f"rota.{composite}"],
    )
    assert list(record.__annotations__) == [name for (name,) in attributes]


def test_every_error_code_has_its_class() -> None:
    listed = {
        code
        for path in (PACKAGE.parents[1] / "sql").rglob("*.sql")
        for code in re.findall(r"'(RT\d{3})'", path.read_text())
    }
    assert listed <= set(errors.BY_SQLSTATE)
    classes = typing.cast("set[type]", set(errors.BY_SQLSTATE.values()))
    assert {cls.__name__ for cls in classes} <= set(rota.__all__)


def test_statements_are_calls_and_stand_in_one_file() -> None:
    looks_like_sql = re.compile(r"\s*(select|insert|update|delete|with|listen|call)\s")
    found = []
    for path in PACKAGE.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            text = node.value if isinstance(node, ast.Constant) else None
            if isinstance(text, str) and looks_like_sql.match(text):
                found.append((path.name, text))
    # schema.py installs and asks for the version, before there may be any verb.
    assert {name for name, _ in found} == {"protocol.py", "schema.py"}
    for name, sql in found:
        if name == "protocol.py" and sql != "listen rota":
            assert re.match(r"\s*select\s[^;]*rota\.\w+", sql), sql
            arguments = re.findall(r"(\w+) => %\((\w+)\)s", sql)
            assert all(parameter == given for parameter, given in arguments), sql
            assert sql.count("%(") == len(arguments), sql


def run(*arguments: str, dsn: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "rota", *arguments, "--dsn", dsn],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


def test_the_command_enqueues_and_shows(dsn: str, connect: Connect) -> None:
    done = run("enqueue", "kind", '{"a": 1}', "--priority", "2", dsn=dsn)
    assert (done.returncode, done.stdout, done.stderr) == (0, "1\n", "")
    row = connect().execute("select kind, payload, priority from rota.jobs").fetchone()
    assert row == ("kind", {"a": 1}, 2)
    shown = run("status", dsn=dsn)
    assert shown.returncode == 0
    head, line, *_ = shown.stdout.splitlines()
    assert dict(zip(head.split(), line.split(), strict=False))["queue"] == "default"


@pytest.mark.parametrize(
    "arguments",
    [
        ("enqueue", "kind", "{"),
        ("enqueue", "kind", "--run-at", "2999-01-01"),
        ("enqueue", "kind", "--queue", "no-such"),
        ("enqueue", "kind", '"a\\u0000"'),
        ("worker", "--app", "no_such_module:app"),
        ("worker", "--app", "json:dumps"),
    ],
)
def test_the_command_refuses_in_a_line(dsn: str, arguments: tuple[str, ...]) -> None:
    done = run(*arguments, dsn=dsn)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith("rota")
    assert "Traceback" not in done.stderr
