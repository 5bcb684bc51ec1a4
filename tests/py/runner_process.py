"""Runners as processes of their own, for the tests to start, watch and kill."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

from waiting import PATIENCE, wait_until

if TYPE_CHECKING:
    from collections.abc import Mapping

    import psycopg

HERE = Path(__file__).parent


class Runner:
    """A `rota worker` process; what it logs goes to a file."""

    def __init__(
        self,
        dsn: str,
        log: Path,
        *options: str,
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        self.log = log
        with log.open("w") as output:
            self.process = subprocess.Popen(
                [
                    *(sys.executable, "-m", "rota", "worker"),
                    *("--app", "runner_app:app", "--name", log.stem),
                    *("--lease", "600", "--poll", "0.4", *options),
                ],
                cwd=HERE,
                env={**environment, "ROTA_DSN": dsn},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def output(self) -> str:
        return self.log.read_text()

    def signal(self, number: int) -> None:
        self.process.send_signal(number)

    def stop(self) -> None:
        """Send SIGSTOP, and wait until it stands still."""
        self.signal(signal.SIGSTOP)
        os.waitpid(self.process.pid, os.WUNTRACED)

    def wait_for(self, text: str) -> None:
        wait_until(lambda: text in self.output or self._gone())
        assert text in self.output

    def _gone(self) -> bool:
        return self.process.poll() is not None

    def exit_code(self) -> int:
        return self.process.wait(PATIENCE)

    def kill(self) -> None:
        """End the process, stopped or not, and its children."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


class Bench:
    """A database, a folder for the handlers to meet in, and runners."""

    def __init__(
        self, dsn: str, folder: Path, connection: psycopg.Connection[Any]
    ) -> None:
        self.dsn = dsn
        self.folder = folder
        self.connection = connection
        self.runners: list[Runner] = []

    def start(self, *options: str, dsn: str | None = None) -> Runner:
        """Start a runner, leases that do not run out, polling every 0.4 s."""
        log = self.folder / f"runner{len(self.runners)}.log"
        runner = Runner(dsn or self.dsn, log, *options)
        self.runners.append(runner)
        return runner

    def ready(self, *options: str) -> Runner:
        """Start a runner and wait until it has begun to claim."""
        runner = self.start(*options)
        runner.wait_for("registered as worker")
        return runner

    def enqueue(self, kind: str, **options: Any) -> int:
        """Enqueue a job whose payload names the folder; options as rota.enqueue's."""
        payload = options.pop("payload", {}) | {"folder": str(self.folder)}
        names = {"kind": kind, "payload": Jsonb(payload), **options}
        arguments = ", ".join(f"{name} => %({name})s" for name in names)
        row = self.connection.execute(
            f"select rota.enqueue({arguments})".encode(), names
        ).fetchone()
        assert row
        return int(row[0])

    def go(self) -> None:
        """Let the handlers that wait return."""
        (self.folder / "go").touch()

    def stay(self) -> None:
        """Let handlers wait again."""
        (self.folder / "go").unlink()

    def begun(self, job: int, execution: int = 1) -> None:
        """Wait until the handler of that execution has begun."""
        wait_until((self.folder / f"begun-{job}-{execution}").exists)

    def job(self, job: int) -> dict[str, Any]:
        with self.connection.cursor(row_factory=dict_row) as cursor:
            row = cursor.execute(
                "select * from rota.jobs where id = %s", [job]
            ).fetchone()
        assert row
        return row

    def outcomes(self, job: int) -> list[str]:
        """How the executions of a job ended, in order."""
        rows = self.connection.execute(
            "select outcome from rota.executions where job_id = %s order by execution",
            [job],
        )
        return [outcome for (outcome,) in rows]

    def reaches(self, job: int, state: str) -> dict[str, Any]:
        """Wait until the job is in that state; returns it."""
        wait_until(lambda: self.job(job)["state"] == state)
        return self.job(job)

    def reaps(self, job: int) -> None:
        """Let the lease of the job's worker run out, and take its jobs from it."""
        execution = self.job(job)["execution"]

        def is_lost() -> bool:
            self.connection.execute(
                "update rota.worker set lease_expires_at = clock_timestamp()"
                " where id = ("
                "select worker_id from rota.job where id = %s and execution = %s)",
                [job, execution],
            )
            self.connection.execute("select rota.maintain()")
            return self.outcomes(job)[execution - 1 : execution] == ["lost"]

        wait_until(is_lost)

    def terminate(self) -> int:
        """Terminate every session of the runners; returns how many there were."""
        return len(
            self.connection.execute(
                "select pg_terminate_backend(pid) from pg_stat_activity"
                " where application_name = 'rota' and datname = current_database()"
            ).fetchall()
        )

    def close(self) -> None:
        for runner in self.runners:
            runner.kill()
