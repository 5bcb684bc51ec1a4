"""The throw-away server ends, and its folder goes, however its owner ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import psycopg
import pytest

from rota.demo.server import ServerError, server, stop_command
from waiting import PATIENCE, wait_until

OWNER = """
import sys
from rota.demo.server import server
with server() as dsn:
    print(dsn, flush=True)
    sys.stdin.read()
"""

OWNER_WITH_CHILD = """
import os, signal
from rota.demo.server import server
with server() as dsn:
    child = os.fork()
    if child:
        print(dsn, child, flush=True)
    signal.pause()
"""


def folder_of(dsn: str) -> Path:
    return Path(parse_qs(urlsplit(dsn).query)["host"][0])


def is_running(pid: int) -> bool:
    """Say whether a process exists and is not a zombie that only awaits its parent."""
    done = subprocess.run(
        ["ps", "-o", "stat=", "-p", str(pid)],
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.strip()[:1] not in ("", "Z")


def pids_of(folder: Path) -> list[int]:
    files = (folder / "supervisor.pid", folder / "data" / "postmaster.pid")
    return [int(file.read_text().split()[0]) for file in files]


def wait_until_gone(folder: Path, pids: list[int]) -> None:
    wait_until(lambda: not folder.exists())
    wait_until(lambda: not any(is_running(pid) for pid in pids))


def test_a_server_lives_as_long_as_its_block() -> None:
    with server(settings={"work_mem": "5MB"}) as dsn:
        folder = folder_of(dsn)
        pids = pids_of(folder)
        assert all(is_running(pid) for pid in pids)
        with psycopg.connect(dsn) as connection:
            assert connection.execute("show work_mem").fetchone() == ("5MB",)
            assert connection.execute("show fsync").fetchone() == ("off",)
    wait_until_gone(folder, pids)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_nothing_is_left_when_the_owner_is_killed(number: signal.Signals) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", OWNER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as owner:
        assert owner.stdout
        folder = folder_of(owner.stdout.readline().strip())
        pids = pids_of(folder)
        owner.send_signal(number)
        owner.wait(PATIENCE)
        wait_until_gone(folder, pids)


def test_nothing_is_left_when_a_child_outlives_the_owner() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", OWNER_WITH_CHILD],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as owner:
        assert owner.stdout
        dsn, child = owner.stdout.readline().split()
        folder = folder_of(dsn)
        pids = pids_of(folder)
        owner.kill()
        owner.wait(PATIENCE)
        try:
            wait_until_gone(folder, pids)
            assert is_running(int(child))
        finally:
            os.kill(int(child), signal.SIGKILL)


def test_nothing_is_left_when_the_owner_is_killed_during_initdb(
    tmp_path: Path,
) -> None:
    said = tmp_path / "said"
    initdb = tmp_path / "pginstall" / "bin" / "initdb"
    initdb.parent.mkdir(parents=True)
    initdb.write_text(f'#!/bin/sh\necho "$$ $PWD" >{said}\nexec sleep 600\n')
    initdb.chmod(0o755)
    with subprocess.Popen(
        [sys.executable, "-c", OWNER],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=os.environ | {"ROTA_PG_BINDIR": str(initdb.parent)},
    ) as owner:
        pid, folder = wait_until(
            lambda: said.read_text().split() if said.exists() else []
        )
        assert Path(folder).is_dir()
        owner.kill()
        wait_until_gone(Path(folder), [int(pid)])


def test_a_kept_server_stays_until_it_is_told_to_stop() -> None:
    with server(keep=True) as dsn:
        folder = folder_of(dsn)
        pids = pids_of(folder)
    with psycopg.connect(dsn) as connection:
        assert connection.execute("select 1").fetchone() == (1,)
    subprocess.run(stop_command(dsn), shell=True, check=True)
    wait_until_gone(folder, pids)


def test_a_server_is_not_kept_after_an_error() -> None:
    found = []

    def fail() -> None:
        with server(keep=True) as dsn:
            found.extend(pids_of(folder_of(dsn)))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert found
    wait_until(lambda: not any(is_running(pid) for pid in found))


def test_a_data_directory_of_ones_own_is_left_and_taken_up_again(
    tmp_path: Path,
) -> None:
    directory = tmp_path / "data"
    with server(directory=directory) as dsn, psycopg.connect(dsn) as connection:
        connection.execute("create table note as select 42 as answer")
    with server(directory=directory) as dsn, psycopg.connect(dsn) as connection:
        assert connection.execute("select answer from note").fetchone() == (42,)


def test_a_server_that_cannot_start_says_why() -> None:
    with (
        pytest.raises(ServerError, match="no_such_setting"),
        server(settings={"no_such_setting": "1"}),
    ):
        pass


def test_without_binaries_the_error_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("ROTA_PG_BINDIR", str(tmp_path))
    with pytest.raises(ServerError, match="initdb"), server():
        pass
