"""The demo does what it says, notices what is wrong, and leaves nothing behind."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import uuid
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest

from rota.demo import work
from rota.demo.interrupts import Interrupts
from rota.demo.report import Seen, report
from waiting import PATIENCE, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

MARK = "ROTA_DEMO_TEST"
FILE_COUNT = 60

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/environ").exists(), reason="looks for processes in /proc"
)


class Stage:
    """A folder of files, a place for temporary ones, and demos that run on them."""

    def __init__(self, files: Path, temporary: Path) -> None:
        self.files = files
        self.temporary = temporary
        self.mark = uuid.uuid4().hex

    def start(self, **environment: str) -> subprocess.Popen[str]:
        inherited = {
            k: v
            for k, v in os.environ.items()
            if k not in {"ROTA_DSN", "DATABASE_URL", "KEEP"}
        }
        own = {
            "DEMO_DIR": str(self.files),
            "TMPDIR": str(self.temporary),
            MARK: self.mark,
        }
        return subprocess.Popen(
            [sys.executable, "-u", "-m", "rota.demo"],
            env=inherited | own | environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            process_group=0,
        )

    def run(self, **environment: str) -> tuple[int, list[str]]:
        with self.start(**environment) as process:
            assert process.stdout
            return process.wait(3 * PATIENCE), process.stdout.read().splitlines()

    def processes(self) -> list[str]:
        """Name the processes that were started from here and are still there."""
        wanted = f"{MARK}={self.mark}".encode()
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                if wanted in (folder / "environ").read_bytes():
                    found.append((folder / "cmdline").read_text())
            except OSError:
                continue
        return found

    def is_swept(self) -> bool:
        return not self.processes() and not list(self.temporary.iterdir())


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    for number in range(FILE_COUNT):
        (tmp_path / f"{number} ä%20?.txt").write_text(f"content {number}\n")
    (tmp_path / os.fsdecode(b"not \xff text")).write_bytes(b"")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    # Sockets have short paths, and pytest's folders have long ones.
    with tempfile.TemporaryDirectory(prefix="rd-") as temporary:
        yield Stage(tmp_path, Path(temporary))


def found(lines: list[str], name: str) -> int:
    """Return the number that the table shows."""
    (row,) = [x for x in lines if re.match(rf"\W+{name} ", x)]
    numbers = re.findall(r"\d+", row.removeprefix(name))
    return int(numbers[-2])


def test_every_file_is_done_right_through_all_the_trouble(stage: Stage) -> None:
    code, lines = stage.run()
    assert lines[-1] == "demo: 61 files, 61 right, 0 missing, 0 twice", lines
    assert code == 0
    assert found(lines, "leases lost with the killed worker") > 0
    assert found(lines, "handed back by the drained worker") > 0
    assert found(lines, "failed attempts, tried again") > 0
    assert found(lines, "dead") == found(lines, "replayed") == 2
    assert stage.is_swept()


def test_one_file_is_enough(stage: Stage) -> None:
    for path in list(stage.files.iterdir())[1:]:
        path.unlink()
    next(stage.files.iterdir()).write_text("alone")
    code, lines = stage.run()
    assert lines[-1] == "demo: 1 files, 1 right, 0 missing, 0 twice", lines
    assert code == 0


@pytest.mark.parametrize(
    ("moment", "number"),
    [
        ("throw-away", signal.SIGINT),
        ("workers:", signal.SIGTERM),
        ("killed", signal.SIGINT),
    ],
)
def test_an_interrupt_leaves_nothing_behind(
    stage: Stage, moment: str, number: signal.Signals
) -> None:
    with stage.start() as process:
        assert process.stdout
        assert any(moment in line for line in process.stdout)
        os.killpg(process.pid, number)
        assert process.wait(PATIENCE) == 130
    assert stage.is_swept()


def test_an_interrupt_waits_until_a_process_that_starts_is_known() -> None:
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {one: signal.getsignal(one) for one in numbers}
    steps: list[str] = []

    def start() -> None:
        with interrupts.held():
            signal.raise_signal(signal.SIGINT)
            steps.append("known")
        steps.append("went on")

    try:
        interrupts = Interrupts()
        interrupts.begin()
        with pytest.raises(KeyboardInterrupt):
            start()
        signal.raise_signal(signal.SIGINT)
        steps.append("cleaned up")
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
    assert steps == ["known", "cleaned up"]


def test_killing_the_demo_ends_its_workers_and_its_server(stage: Stage) -> None:
    with stage.start() as process:
        assert process.stdout
        assert any("killed" in line for line in process.stdout)
        process.kill()
    wait_until(lambda: not stage.processes())
    assert not list(stage.temporary.glob("rota-pg-*"))


def test_it_can_be_kept_and_ended_as_it_says(stage: Stage) -> None:
    code, lines = stage.run(KEEP="1")
    assert code == 0, lines
    psql, stop = (x.strip() for x in lines if x.startswith("    "))
    count = subprocess.run(
        f"{psql} --no-psqlrc --tuples-only --command "
        "'select count(*) from demo.checksum'",
        shell=True,
        capture_output=True,
        text=True,
        check=True,
    )
    assert count.stdout.strip() == "61"
    subprocess.run(stop, shell=True, check=True)
    wait_until(stage.is_swept)


def test_a_given_database_is_left_as_it_was(stage: Stage, empty_dsn: str) -> None:
    role = f"rota_test_other_{os.getpid()}"
    with (
        psycopg.connect(empty_dsn, autocommit=True) as connection,
        stage.start(DATABASE_URL=empty_dsn) as process,
    ):
        assert process.stdout
        assert any("workers:" in line for line in process.stdout)
        connection.execute(f"create role {role}".encode())
        try:
            lines = process.stdout.read()
            assert process.wait(3 * PATIENCE) == 0, lines
        finally:
            connection.execute(f"drop role {role}".encode())
        left = connection.execute(
            "select nspname from pg_namespace where nspname in ('rota', 'demo')"
        ).fetchall()
    assert left == []
    assert stage.is_swept()


def test_a_database_that_has_rota_is_not_touched(stage: Stage, dsn: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("select rota.enqueue('mine')")
        code, lines = stage.run(ROTA_DSN=dsn)
        assert code == 2
        assert "there is a schema rota in this database already" in lines[-1]
        state = connection.execute("select state from rota.jobs").fetchall()
        assert state == [("queued",)]


def test_an_empty_folder_is_refused(stage: Stage) -> None:
    (stage.files / "empty").mkdir()
    code, lines = stage.run(DEMO_DIR=str(stage.files / "empty"))
    assert code == 2
    assert "no file to read" in lines[-1]


def test_the_report_notices_what_is_wrong(stage: Stage, empty_dsn: str) -> None:
    code, lines = stage.run(DATABASE_URL=empty_dsn, KEEP="1")
    assert code == 0, lines
    plans = work.plan(
        sorted(p for p in stage.files.iterdir() if p.is_file() and not p.is_symlink())
    )
    seen = Seen(
        *("demo-1", found(lines, "leases lost with the killed worker")),
        *("demo-2", found(lines, "handed back by the drained worker")),
        found(lines, "replayed"),
    )
    with psycopg.connect(empty_dsn) as connection:

        def off_after(statement: str) -> set[str]:
            with connection.transaction(force_rollback=True):
                connection.execute(statement.encode())
                account = report(connection, plans, seen)
            return {row.name.strip() for row in account.rows if row.is_off}

        one = "ctid = (select min(ctid) from demo.checksum)"
        assert off_after("select") == set()
        assert off_after(f"update demo.checksum set sum = '0' where {one}") == {"wrong"}
        assert off_after(f"delete from demo.checksum where {one}") == {"missing"}
        assert off_after(
            f"insert into demo.checksum select * from demo.checksum where {one}"
        ) == {"twice"}
        assert off_after(
            "update rota.archive set attempt = attempt + 1"
            " where id = (select min(id) from rota.archive)"
        ) >= {"charged more or less than they failed"}
        assert off_after("delete from rota.attempt where outcome = 'lost'") >= {
            "leases lost with the killed worker",
            "of them refunded",
        }
