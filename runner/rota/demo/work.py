"""What the demo's jobs are and what its workers do: write down a file's checksum."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote_to_bytes, urlsplit

from rota import App, Job, NewJob

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rota.text import Json

app = App()

MAX_ATTEMPTS = 10
ALGORITHM = "sha256"
MISSPELT = "sha257"
# A file that is there for as long as jobs that wait shall wait.
GATE = "ROTA_DEMO_GATE"
WAITING_COUNT = 6


@dataclass(frozen=True, slots=True)
class Plan:
    """One job, and what should become of it."""

    path: Path
    job: NewJob
    is_waiting: bool
    is_poisoned: bool

    @property
    def uri(self) -> str:
        """The name of the file that the job and its checksum carry."""
        return self.path.as_uri()

    @property
    def failure_count(self) -> int:
        """How many attempts fail before one succeeds or the job is dead."""
        if self.is_poisoned:
            return MAX_ATTEMPTS
        if self.job.kind != "flaky checksum":
            return 0
        return next(n for n in range(MAX_ATTEMPTS) if not _fails(self.uri, n + 1))


def plan(paths: Sequence[Path]) -> list[Plan]:
    """Say what each file's job is: most are plain, some are trouble."""
    spacing = max(1, len(paths) // (2 * WAITING_COUNT))
    waiting = set(range(0, len(paths), spacing)[:WAITING_COUNT])
    return [
        _plan(
            path, is_waiting=n in waiting, is_flaky=n % 10 == 3, is_poisoned=n % 50 == 7
        )
        for n, path in enumerate(paths)
    ]


def _plan(path: Path, *, is_waiting: bool, is_flaky: bool, is_poisoned: bool) -> Plan:
    is_poisoned = is_poisoned and not is_waiting
    is_flaky = is_flaky and not is_waiting
    payload: dict[str, Json] = {
        "file": path.as_uri(),
        "algorithm": MISSPELT if is_poisoned else ALGORITHM,
    }
    if is_waiting:
        payload["waits"] = True
    kind = "flaky checksum" if is_flaky else "checksum"
    return Plan(path, NewJob(kind=kind, payload=payload), is_waiting, is_poisoned)


@app.handler("checksum")
def checksum(job: Job) -> None:
    """Write the checksum down, in the transaction that completes the job."""
    assert isinstance(job.payload, dict)
    uri = str(job.payload["file"])
    # A misspelt algorithm is an error here, in every attempt until it is mended.
    digest = hashlib.new(str(job.payload["algorithm"]))
    size = 0
    with path_of(uri).open("rb") as file:
        while chunk := file.read(1 << 20):
            digest.update(chunk)
            size += len(chunk)
    with job.transaction() as connection:
        connection.execute(
            "insert into demo.checksum (job_id, file, size, sum)"
            " values (%s, %s, %s, %s)",
            [job.id, uri, size, digest.hexdigest()],
        )
        # The worst moment to die: the work is done, and nobody knows of it yet.
        if job.payload.get("waits") and job.execution == 1:
            _wait(job)


@app.handler("flaky checksum")
def flaky_checksum(job: Job) -> None:
    """Do the same, but fail in 7 attempts of 10."""
    assert isinstance(job.payload, dict)
    if _fails(str(job.payload["file"]), job.attempt):
        raise ConnectionError("the network drive is away, as it is 7 times in 10")
    checksum(job)


def path_of(uri: str) -> Path:
    """Return the path that `Path.as_uri` was asked for, whatever bytes are in it."""
    return Path(os.fsdecode(unquote_to_bytes(urlsplit(uri).path)))


def _fails(uri: str, attempt: int) -> bool:
    """Decide by file and attempt, the last attempt always succeeding, so it ends."""
    drawn = hashlib.sha256(f"{attempt} {uri}".encode()).digest()[0]
    return attempt < MAX_ATTEMPTS and drawn < 0.7 * 256


def _wait(job: Job) -> None:
    """Wait at the gate, as if the disk were slow."""
    gate = Path(os.environ[GATE])
    while gate.exists():
        if job.cancelled.wait(0.05):
            raise InterruptedError("told to end while waiting for the disk")
