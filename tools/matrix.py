"""Run the whole test suite on several major versions of PostgreSQL, one after another.

    python tools/matrix.py "15 16 17 18" [PYTEST ARGUMENT …]

Each server's programs are fetched into `.cache/`; no docker. Ends with a table, and
fails when a version failed or could not be had.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from typing import TYPE_CHECKING

from fetch_postgres import FetchError, postgres_bindir

if TYPE_CHECKING:
    from pathlib import Path


def main(majors: str, *arguments: str) -> int:
    """Test each version; returns 1 when any failed."""
    rows: list[tuple[str, str, str]] = []
    failed = False
    for major in majors.split():
        print(f"\n=== PostgreSQL {major} ===", flush=True)
        began = time.monotonic()
        try:
            programs = postgres_bindir(int(major))
        except (FetchError, ValueError) as error:
            print(error, file=sys.stderr)
            rows.append((major, "-", "not to be had here"))
            failed = True
            continue
        is_ok, verdict = _test(programs, arguments)
        failed = failed or not is_ok
        minutes, seconds = divmod(round(time.monotonic() - began), 60)
        rows.append((major, f"{minutes}:{seconds:02}", verdict))
    print("\n| PostgreSQL | time | tests |\n|---|---|---|")
    for row in rows:
        print(f"| {' | '.join(row)} |")
    return int(failed)


def _test(programs: Path, arguments: tuple[str, ...]) -> tuple[bool, str]:
    """Run pytest on this server, passing its output on; returns its closing line."""
    environment = {k: v for k, v in os.environ.items() if k != "ROTA_TEST_DSN"} | {
        "ROTA_PG_BINDIR": str(programs),
        "ROTA_TEST_PG": "embedded",
    }
    closing = ""
    with subprocess.Popen(
        [sys.executable, "-m", "pytest", *arguments],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout
        for line in process.stdout:
            print(line, end="", flush=True)
            closing = line.strip() or closing
    return process.returncode == 0, re.sub(r" in .*", "", closing.strip("= "))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
