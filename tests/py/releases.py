"""Earlier releases, taken from this checkout's history: their `sql` and `runner`."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
CACHE = CHECKOUT / ".cache" / "releases"
# A clone may come without tags.
COMMITS = {"0.1.0": "6c1733086ddcbe31eb3185cef2e05b2aad3db58d"}


class NoHistory(RuntimeError):
    """The release is not to be had here; the message says why."""


@cache
def release(version: str) -> Path:
    """Return a folder with the `sql` and `runner` of that release.

    Raises NoHistory where there is no git, or no such commit in it.
    """
    folder = CACHE / version
    if not folder.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=CACHE) as partial:
            archive = Path(partial) / "release.tar"
            _archive(version, archive)
            content = Path(partial) / version
            content.mkdir()
            subprocess.run(["tar", "-xf", archive, "-C", content], check=True)
            try:
                content.rename(folder)
            except OSError:  # another process was quicker
                assert folder.exists()
    return folder


def _archive(version: str, target: Path) -> None:
    said = ""
    for name in (f"v{version}^{{commit}}", COMMITS[version]):
        try:
            done = subprocess.run(
                [
                    *("git", "-C", CHECKOUT, "archive", f"--output={target}"),
                    *(name, "sql", "runner"),
                ],
                capture_output=True,
                text=True,
                check=False,
            )
        except FileNotFoundError as error:
            raise NoHistory("git is not installed") from error
        if done.returncode == 0:
            return
        said = done.stderr.strip().splitlines()[-1]
    raise NoHistory(f"release {version} is not in the history here: git says {said!r}")


def environment(version: str) -> dict[str, str]:
    """Return the environment in which Python finds that release as `rota`."""
    kept = {k: v for k, v in os.environ.items() if k != "ROTA_SQL_DIR"}
    return kept | {"PYTHONPATH": str(release(version) / "runner")}


@cache
def install_sql(version: str) -> str:
    """Return that release's own script, as its `rota sql` prints it."""
    return subprocess.run(
        [sys.executable, "-m", "rota", "sql"],
        env=environment(version),
        cwd=release(version),
        capture_output=True,
        text=True,
        check=True,
    ).stdout
