"""Keep one throw-away PostgreSQL alive for exactly as long as its owner lives.

Run as a script of its own, with the standard library only: the owner may be killed
at any moment, so what cleans up after it has to be another process. The owner holds
the other end of standard input. When that closes, however it came to close, the
server is stopped and its folder removed; the word "keep" before the end leaves both
until this process receives SIGTERM.

The only argument is a JSON object: bindir, data (null: below the folder, removed with
it), settings. Answers on standard output, a line each: the folder, then "ready".
"""

from __future__ import annotations

import contextlib
import json
import os
import pwd
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path

START_LIMIT = 180.0  # seconds for initdb and the first "ready"
STOP_LIMIT = 10.0  # seconds before a fast stop becomes an immediate one
SOCKET_PATH_LIMIT = 80  # bytes for the folder: a socket's whole path fits in about 103


class _Stopped(Exception):
    """The owner is gone, or someone asked this process to end."""


@dataclass(frozen=True, slots=True)
class _Identity:
    """Who runs the server: PostgreSQL refuses to be root."""

    bindir: Path
    prefix: tuple[str, ...] = ()
    uid: int | None = None
    gid: int | None = None

    def start(
        self, program: str, *arguments: str, folder: Path
    ) -> subprocess.Popen[bytes]:
        """Start one of PostgreSQL's programs, its output going to the log."""
        environment = {k: v for k, v in os.environ.items() if not k.startswith("PG")}
        with (folder / "log").open("ab") as log:
            return subprocess.Popen(
                [*self.prefix, str(self.bindir / program), *arguments],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=folder,
                env=environment | {"LC_ALL": "C"},
                user=self.uid,
                group=self.gid,
                extra_groups=None if self.uid is None else [],
            )

    def give(self, path: Path) -> None:
        """Make a folder, and all that is in it, this identity's own."""
        if self.uid is None or self.gid is None:
            return
        os.chown(path, self.uid, self.gid)
        for parent, folders, files in os.walk(path):
            for name in (*folders, *files):
                os.chown(Path(parent, name), self.uid, self.gid, follow_symlinks=False)


def _identity(bindir: Path, folder: Path) -> _Identity:
    """Choose an identity; root becomes somebody else, in one of two ways."""
    myself = _Identity(bindir)
    if os.geteuid() != 0:
        return myself
    # A user namespace in which root looks like nobody: the files stay root's, so
    # binaries below a private home remain reachable.
    prefix = ("unshare", "--user", "--map-user=65534", "--map-group=65534", "--")
    if shutil.which("unshare") and _works((*prefix, "true")):
        return replace(myself, prefix=prefix)
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            account = pwd.getpwnam(name)
            break
    else:
        raise RuntimeError("PostgreSQL cannot run as root, and no other account exists")
    other = replace(myself, uid=account.pw_uid, gid=account.pw_gid)
    other.give(folder)
    version = (str(bindir / "postgres"), "-V")
    if _works(version, uid=account.pw_uid, gid=account.pw_gid):
        return other
    # That account cannot reach the binaries, so it gets a copy. The package looks
    # for its libraries in a sibling folder: the two have to stay side by side.
    package = bindir.parents[1]
    for source in (package, package.with_name(package.name + ".libs")):
        if source.exists():
            shutil.copytree(source, folder / "bin" / source.name, symlinks=True)
    other.give(folder)
    return replace(other, bindir=folder / "bin" / bindir.relative_to(package.parent))


def _works(
    command: tuple[str, ...], uid: int | None = None, gid: int | None = None
) -> bool:
    with contextlib.suppress(OSError):
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            user=uid,
            group=gid,
            extra_groups=None if uid is None else [],
            check=False,
        )
        return done.returncode == 0
    return False


class _Owner:
    """Watches for the end of whoever started this process."""

    def __init__(self) -> None:
        self._parent = os.getppid()
        self._watched = True
        self._stopped = False
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_signal)

    def _on_signal(self, *_: object) -> None:
        self._stopped = True

    def wait(self, seconds: float) -> None:
        """Let some time pass; raise _Stopped as soon as there is a reason to."""
        readable = [sys.stdin.buffer] if self._watched else []
        ready, _, _ = select.select(readable, [], [], seconds)
        if ready:
            word = os.read(sys.stdin.fileno(), 64)
            self._watched = word != b"keep\n"
            self._stopped |= not word
        # A child forked by the owner holds the pipe open too, so ask for the parent.
        if self._stopped or (self._watched and os.getppid() != self._parent):
            raise _Stopped


def _end(process: subprocess.Popen[bytes]) -> None:
    """Stop one program: a fast shutdown first, and harder when that takes too long."""
    for number, limit in (
        (signal.SIGINT, STOP_LIMIT),
        (signal.SIGQUIT, STOP_LIMIT),
        (signal.SIGKILL, None),
    ):
        process.send_signal(number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(limit)
            return


def _remove(folder: Path) -> None:
    """Remove a folder in which a dying program may still be writing."""
    limit = time.monotonic() + STOP_LIMIT
    while folder.exists() and time.monotonic() < limit:
        shutil.rmtree(folder, ignore_errors=True)


def _initdb(identity: _Identity, owner: _Owner, folder: Path, data: Path) -> None:
    process = identity.start(
        "initdb",
        *("--pgdata", str(data), "--username", "postgres", "--auth", "trust"),
        *("--encoding", "UTF8", "--no-locale", "--no-sync"),
        folder=folder,
    )
    try:
        while process.poll() is None:
            owner.wait(0.02)
    finally:
        _end(process)
    if process.returncode != 0:
        raise RuntimeError("initdb failed")


def _serve(
    identity: _Identity,
    owner: _Owner,
    folder: Path,
    data: Path,
    settings: dict[str, str],
) -> None:
    arguments = [x for k, v in settings.items() for x in ("-c", f"{k}={v}")]
    process = identity.start(
        "postgres",
        *("-D", str(data), "-k", str(folder), *arguments),
        folder=folder,
    )
    try:
        limit = time.monotonic() + START_LIMIT
        is_ready = False
        while process.poll() is None:
            if not is_ready and _says_ready(data, process.pid):
                is_ready = True
                print("ready", flush=True)
            elif not is_ready and time.monotonic() > limit:
                raise RuntimeError("the server did not become ready in time")
            owner.wait(0.5 if is_ready else 0.02)
    finally:
        _end(process)
    if not is_ready:
        raise RuntimeError("the server ended before it was ready")


def _says_ready(data: Path, pid: int) -> bool:
    """Read the status line that the server keeps in its pid file."""
    try:
        lines = (data / "postmaster.pid").read_text().splitlines()
    except OSError:
        return False
    return len(lines) > 7 and lines[0] == str(pid) and lines[7].strip() == "ready"


def main() -> int:
    """Run one server from first to last; 1 when it could not be started."""
    owner = _Owner()
    order = json.loads(sys.argv[1])
    parent = Path(tempfile.gettempdir())
    if len(bytes(parent)) > SOCKET_PATH_LIMIT:
        parent = Path("/tmp")
    folder = Path(tempfile.mkdtemp(prefix="rota-pg-", dir=parent))
    try:
        print(folder, flush=True)
        (folder / "supervisor.pid").write_text(f"{os.getpid()}\n")
        data = Path(order["data"] or folder / "data")
        identity = _identity(Path(order["bindir"]), folder)
        if not (data / "PG_VERSION").exists():
            _initdb(identity, owner, folder, data)
        _serve(identity, owner, folder, data, order["settings"])
    except _Stopped:
        return 0
    except (OSError, RuntimeError) as error:
        log = folder / "log"
        text = log.read_text(errors="replace") if log.exists() else ""
        print(f"{error}\n{text}", file=sys.stderr)
        return 1
    finally:
        _remove(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
