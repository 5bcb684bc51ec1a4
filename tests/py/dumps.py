"""pg_dump and what goes with it, of the server that the tests run on."""

from __future__ import annotations

import re
import subprocess

from rota.demo.server import bindir


def run(program: str, *arguments: str, script: str | None = None) -> str:
    """Run one of PostgreSQL's programs; returns what it printed."""
    done = subprocess.run(
        [str(bindir() / program), *arguments],
        input=script,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def dump(dsn: str, *options: str) -> str:
    return run("pg_dump", *options, f"--dbname={dsn}")


def restore(dsn: str, script: str) -> None:
    run(
        *("psql", "-X", "-q", "--set=ON_ERROR_STOP=1", f"--dbname={dsn}"), script=script
    )


def schema_dump(dsn: str) -> str:
    """Return the definition of schema rota with owners, privileges and comments.

    Without the partitions of days, since these come and go.
    """
    text = dump(
        dsn,
        "--schema-only",
        "--schema=rota",
        "--exclude-table=rota.archive_[0-9]*",
        "--exclude-table=rota.attempt_[0-9]*",
    )
    # A key that is new each time stands at both ends.
    return re.sub(r"(?m)^\\(un)?restrict .*\n", "", text)
