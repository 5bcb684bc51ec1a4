"""README.md: each of its shell blocks, run as it stands by a newcomer."""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
import venv
from typing import TYPE_CHECKING

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from extension_server import extension_server
from releases import CHECKOUT
from rota import schema
from rota.demo.server import bindir

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

README = (CHECKOUT / "README.md").read_text()
BLOCKS = re.findall(r"^```sh\n(.*?)^```", README, re.DOTALL | re.MULTILINE)


def program(path: Path, script: str) -> None:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with pip, and PostgreSQL's programs; rota is not there yet."""
    home = tmp_path_factory.mktemp("newcomer")
    venv.create(home, with_pip=True)
    return home / "bin"


@pytest.fixture
def extension_dsn(programs: Path) -> Iterator[str]:
    with extension_server() as (dsn, folder):
        # Where pg_config would point, were this server installed there.
        program(programs / "pg_config", f"echo {folder.parent}")
        make = shutil.which("make")
        program(
            programs / "make",
            f'exec {make} --old-file=.venv/.demo BIN={programs} "$@"',
        )
        yield dsn


def run(block: str, dsn: str, programs: Path, folder: Path = CHECKOUT) -> None:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "PIP"))}
    subprocess.run(
        ["bash", "-euxc", block],
        cwd=folder,
        env=kept
        | {"PATH": f"{programs}:{bindir()}:{kept['PATH']}", "DATABASE_URL": dsn},
        stdin=subprocess.DEVNULL,
        check=True,
    )


def version_in(dsn: str) -> str | None:
    with psycopg.connect(dsn, autocommit=True) as connection:
        return schema.installed_version(connection)


def test_each_way_to_install_is_shown() -> None:
    assert len(BLOCKS) == 3


@pytest.mark.timeout(900)
def test_the_blocks_do_what_they_say(
    programs: Path, empty_dsn: str, extension_dsn: str, tmp_path: Path
) -> None:
    with_package, with_psql, as_extension = BLOCKS
    package_steps, uninstall = with_package.split("rota uninstall", 1)
    run(package_steps, empty_dsn, programs)
    assert version_in(empty_dsn) == schema.version()
    run(f"rota uninstall{uninstall}", empty_dsn, programs)
    assert version_in(empty_dsn) is None
    run(with_psql, empty_dsn, programs, tmp_path)
    assert version_in(empty_dsn) == schema.version()
    run(as_extension, make_conninfo(extension_dsn), programs)
    assert version_in(extension_dsn) == schema.version()
