"""Faults of connections: ended by the server, cut, gone silent, refused."""

from __future__ import annotations

import contextlib
import re
import signal
from typing import TYPE_CHECKING

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from cutting_proxy import CuttingProxy
from faults.machine import Machine
from faults.relay import Relay
from rota import schema
from waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from faults.conftest import NewTrial
    from faults.trial import Trial

AWAY = "database away"
MAX_CONNECTIONS = 40


@pytest.fixture
def trial(dsn: str, begin: NewTrial) -> Trial:
    return begin(dsn)


@pytest.fixture
def socket_path(dsn: str) -> str:
    server = conninfo_to_dict(dsn)
    if not str(server.get("host")).startswith("/"):
        pytest.skip("what stands in between speaks to a local socket")
    return f"{server['host']}/.s.PGSQL.{server.get('port', 5432)}"


def test_terminated_connections(trial: Trial) -> None:
    for _ in range(2):
        trial.ready("--lease", "5")
    trial.load()
    for _ in range(60 * trial.times):
        trial.pause(0.0, 0.15)
        if sessions := trial.sessions():
            victim, _ = trial.random.choice(sessions)
            trial.terminate(victim)
            trial.injected()
    trial.probe()
    trial.conclude("pg_terminate_backend of any connection")


def is_listening(query: str) -> bool:
    return bool(re.search(r"listen rota|mark_idle|enqueuers_in_flight", query))


def test_terminated_connections_of_a_sleeper(trial: Trial) -> None:
    """A job that is enqueued while it is cut off does not wait for the poll."""
    trial.ready("--poll", "600", "--lease", "1800")
    for _ in range(10 * trial.times):
        wait_until(lambda: len(trial.sessions()) == 2)
        wait_until(lambda: any(is_listening(query) for _, query in trial.sessions()))
        trial.pause(0.0, 0.2)
        which = trial.random.choice(("exchange", "listening", "both"))
        for pid, query in trial.sessions():
            if which == "both" or is_listening(query) == (which == "listening"):
                trial.terminate(pid)
        trial.injected()
        trial.probe()
    trial.conclude("pg_terminate_backend of a sleeper's connections")


def test_lost_answers(trial: Trial, socket_path: str) -> None:
    with CuttingProxy(trial.folder, socket_path) as proxy:
        dsn = make_conninfo(trial.dsn, host=str(trial.folder), port=5432)
        # Prepared statements would not be known by their text.
        trial.ready("--lease", "5", "--no-listen", dsn=dsn)
        trial.load()
        for count in range(1, 30 * trial.times + 1):
            trial.pause(0.0, 0.1)
            text = trial.random.choice(("rota.exchange", "COMMIT", "complete_job"))
            proxy.cut(text, is_carried_out=trial.random.random() < 0.5)
            wait_until(lambda: proxy.cut_count >= count)  # noqa: B023 - called at once
            trial.injected()
        trial.probe()
        trial.conclude("connection cut in place of an answer")


@pytest.fixture
def relay(socket_path: str) -> Iterator[Relay]:
    with Relay(socket_path) as made:
        yield made


def through(relay: Relay, trial: Trial) -> str:
    return make_conninfo(
        trial.dsn, host="127.0.0.1", port=relay.port, connect_timeout=2
    )


def test_connections_cut_anywhere(trial: Trial, relay: Relay) -> None:
    for _ in range(2):
        trial.ready("--lease", "5", dsn=through(relay, trial))
    trial.load()
    for _ in range(20 * trial.times):
        trial.pause(0.0, 0.3)
        relay.cut()
        trial.injected()
        trial.probe()
    trial.conclude("all connections of the runners cut")


def test_half_open_connections(trial: Trial, relay: Relay) -> None:
    runner = trial.ready("--lease", "3", dsn=through(relay, trial))
    # Handlers that hang on a connection of their own keep their slots until it is cut,
    # which may be all slots there are.
    trial.load(30.0, kinds=("plain", "thread", "flaky"))
    for _ in range(2 * trial.times):
        trial.pause(0.5, 1.0)
        count = runner.output.count(AWAY)
        relay.silence()
        trial.injected()
        wait_until(lambda: runner.output.count(AWAY) > count)  # noqa: B023
        trial.probe()
        relay.restore()
    trial.conclude("connections half open")


def test_a_silent_network(trial: Trial, relay: Relay) -> None:
    runner = trial.ready("--lease", "3", dsn=through(relay, trial))
    trial.load(30.0)
    for _ in range(2 * trial.times):
        trial.pause(0.5, 1.0)
        count = runner.output.count(AWAY)
        relay.silence(is_total=True)
        wait_until(lambda: runner.output.count(AWAY) > count + 1)  # noqa: B023
        relay.restore()
        trial.injected()
        trial.probe()
    trial.conclude("network silent, then back")


def test_a_server_out_of_connections(tmp_path: Path, begin: NewTrial) -> None:
    settings = {
        "max_connections": str(MAX_CONNECTIONS),
        "superuser_reserved_connections": "3",
    }
    with Machine(tmp_path, settings) as machine:
        with psycopg.connect(machine.dsn, autocommit=True) as session:
            schema.install(session)
            session.execute("create role worker login in role rota_worker")
        trial = begin(machine.dsn)
        trial.client.run(
            lambda c: c.execute(
                "grant usage on schema ledger to worker;"
                "grant insert on ledger.posting to worker"
            )
        )
        dsn = make_conninfo(machine.dsn, user="worker")
        # Fewer than the server has, or they would be the fault themselves.
        options = ("--lease", "5", "--concurrency", "4")
        runner = trial.ready(*options, dsn=dsn)
        trial.load(50.0)
        for _ in range(2 * trial.times):
            trial.pause(0.0, 0.5)
            count = runner.output.count(AWAY)
            with contextlib.ExitStack() as hogs:
                while runner.output.count(AWAY) == count or not is_full(trial):
                    trial.terminate(*(pid for pid, _ in trial.sessions()))
                    hog(dsn, hogs)
                late = trial.start(*options, dsn=dsn)
                late.wait_for("slots")
                runner.wait_for("slots")
            trial.injected()
            trial.probe()
            late.wait_for("registered as worker")
            late.signal(signal.SIGTERM)
            assert late.exit_code() == 0
        trial.conclude("server out of connections")


def is_full(trial: Trial) -> bool:
    """Say whether no runner is connected, nor can be."""
    ((count,),) = trial.client.ask(
        "select count(*) from pg_stat_activity"
        " where backend_type = 'client backend' and application_name <> 'rota'"
    )
    return bool(count >= MAX_CONNECTIONS - 3) and not trial.sessions()


def hog(dsn: str, connections: contextlib.ExitStack) -> None:
    """Take every connection that the server has left."""
    with contextlib.suppress(psycopg.OperationalError):
        while True:
            one = psycopg.connect(dsn, application_name="hog")
            connections.enter_context(contextlib.closing(one))
