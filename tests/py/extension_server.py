"""A server of its own that has rota's extension files, with nothing installed in it."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from rota.demo.server import bindir, server

if TYPE_CHECKING:
    from collections.abc import Iterator


def folder_of(programs: Path, what: str) -> Path:
    """Ask pg_config for one of the installation's folders."""
    done = subprocess.run(
        [programs / "pg_config", f"--{what}"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
    )
    return Path(done.stdout.strip())


def major_version(programs: Path) -> int:
    version = subprocess.run(
        [programs / "postgres", "-V"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    found = re.search(r"\) (\d+)", version)
    assert found
    return int(found[1])


@contextlib.contextmanager
def programs_in(folder: Path) -> Iterator[None]:
    """Let servers that are started in the block be those of that folder."""
    before = os.environ.get("ROTA_PG_BINDIR")
    os.environ["ROTA_PG_BINDIR"] = str(folder)
    try:
        yield
    finally:
        if before is None:
            del os.environ["ROTA_PG_BINDIR"]
        else:
            os.environ["ROTA_PG_BINDIR"] = before


@contextlib.contextmanager
def extension_server(directory: Path | None = None) -> Iterator[tuple[str, Path]]:
    """Yield the server's DSN and its folder of extension files, to be written to.

    directory: as server's.
    """
    with tempfile.TemporaryDirectory(prefix="rota-ext-") as name:
        base = Path(name)
        base.chmod(0o755)
        programs = bindir()
        if major_version(programs) >= 18:
            settings = {"extension_control_path": f"{base}:$system"}
            folder = base / "extension"
            folder.mkdir()
            with server(settings=settings, directory=directory) as dsn:
                yield dsn, folder
            return
        # It looks for its files relative to where its program is: hence a copy of the
        # programs beside links to all else, so that one folder is ours.
        programs, folder = _mirror(programs, base)
        with programs_in(programs), server(directory=directory) as dsn:
            yield dsn, folder


def _mirror(programs: Path, base: Path) -> tuple[Path, Path]:
    programs = programs.resolve()
    share, library, packages = (
        folder_of(programs, what) for what in ("sharedir", "libdir", "pkglibdir")
    )
    root = Path(os.path.commonpath([programs, share, library, packages]))

    def inside(folder: Path) -> Path:
        return base / folder.relative_to(root)

    shutil.copytree(programs, inside(programs))
    shutil.copytree(
        share, inside(share), ignore=shutil.ignore_patterns("doc", "man", "*.sample~")
    )
    for folder in (packages, library):
        target = inside(folder)
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            target.symlink_to(folder)
    return inside(programs), inside(share) / "extension"
