"""Break rota on purpose, one place at a time, and see that a test notices.

    python tests/mutants.py [--sample N] [words of a mutant's name]

Each mutant of mutations.py is a copy of `sql/` or `runner/` with one piece of text
replaced. The tests that should see it run against that copy; if all of them pass, the
mutant survives and this fails.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from mutations import MUTANTS, Mutant

CHECKOUT = Path(__file__).resolve().parents[1]
# Whoever waits for what never comes is found out soon; one that is whole has more time.
BROKEN = {"PGOPTIONS": "-c lock_timeout=10s", "ROTA_TEST_PATIENCE": "30"}
BROKEN_SECONDS = 90


class Changed(Exception):
    """The text that a mutant replaces is not there, or more than once."""


def break_in(folder: Path, mutant: Mutant) -> None:
    """Copy what is shipped into the folder, broken."""
    for tree in ("sql", "runner"):
        shutil.copytree(CHECKOUT / tree, folder / tree)
    path = folder / mutant.path
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    if (count := text.count(mutant.old)) != 1:
        raise Changed(f"{count} times in {mutant.path}: {mutant.old!r}")
    path.write_text(text.replace(mutant.old, mutant.new), encoding="utf-8")


def failing(
    folder: Path, tests: tuple[str, ...], options: list[str], **more: str
) -> str | None:
    """Run the tests on the trees in the folder; returns the first that fails, if any.

    Raises RuntimeError when pytest does not get as far as that.
    """
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-m", "not slow", *options),
            *("-x", "-q", "--tb=no", "-p", "no:cacheprovider"),
            *tests,
        ],
        cwd=CHECKOUT,
        env=os.environ
        | {
            "ROTA_SQL_DIR": str(folder / "sql"),
            "PYTHONPATH": str(folder / "runner"),
            "PYTHONDONTWRITEBYTECODE": "1",
            **more,
        },
        capture_output=True,
        text=True,
        check=False,
    )
    for line in done.stdout.splitlines():
        if line.startswith(("FAILED ", "SUBFAILED", "ERROR ")):
            return line.partition("tests/")[2].partition(" - ")[0] or line
    if done.returncode != 0:
        raise RuntimeError(f"pytest {' '.join(tests)}: {done.stdout}{done.stderr}")
    return None


def killer(mutant: Mutant) -> tuple[bool, str]:
    """Say whether a test notices, and which."""
    begun_at = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="rota-mutant-") as name:
        folder = Path(name)
        try:
            break_in(folder, mutant)
            limit = f"--timeout={BROKEN_SECONDS}"
            test = failing(folder, mutant.tests, [limit], **BROKEN)
        except (Changed, RuntimeError) as error:
            return False, f"CANNOT BE MADE: {error}"
    seconds = time.monotonic() - begun_at
    return test is not None, f"{test or 'SURVIVES'} ({seconds:.0f} s)"


def choose(words: list[str], count: int | None) -> list[Mutant]:
    """Pick mutants by name, and so many of those: others after each commit."""
    named = [m for m in MUTANTS if all(word in m.name for word in words)]
    if count is None or count >= len(named):
        return named
    head = subprocess.run(
        ["git", "rev-parse", "HEAD"],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        check=False,
    )
    return random.Random(head.stdout).sample(named, count)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description="Break rota and see tests fail.")
    parser.add_argument("words", nargs="*", help="of a mutant's name")
    parser.add_argument("--sample", type=int, help="try only so many, by the commit")
    options = parser.parse_args(arguments)
    chosen = choose(options.words, options.sample)
    needed = tuple(dict.fromkeys(test for m in chosen for test in m.tests))
    if needed and (broken := failing(CHECKOUT, needed, [])):
        print(f"not even the whole passes {broken}")
        return 1

    survivors = 0
    with ThreadPoolExecutor(2) as pool:
        for mutant, (is_killed, how) in zip(
            chosen, pool.map(killer, chosen), strict=True
        ):
            survivors += not is_killed
            print(f"{mutant.name:52} {how}", flush=True)
    print(f"{len(chosen)} mutants, {survivors} not killed")
    return int(survivors > 0)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
