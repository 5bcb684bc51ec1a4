"""Check that a release can be made of this checkout.

The version is the same everywhere and the changelog dates it; the reference is fresh;
wheel and source distribution build and hold what they should; and the wheel alone, in
an empty environment, installs rota in a database, works a job and runs the demo.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

from rota import schema

CHECKOUT = Path(__file__).resolve().parents[1]

# What a user does first, with nothing but the wheel.
FIRST_STEPS = """
import os, subprocess, sys
from pathlib import Path
import psycopg
from rota.demo.server import server

rota = [sys.executable, "-m", "rota"]
Path("first.py").write_text('''
from rota import App, Job

app = App()


@app.handler("greet")
async def greet(job: Job) -> str:
    return f"hello {job.payload['name']}"
''')
with server() as dsn:
    environment = os.environ | {"DATABASE_URL": dsn}
    for command in (["install"], ["enqueue", "greet", '{"name": "world"}']):
        print("$ rota", *command, flush=True)
        subprocess.run(rota + command, env=environment, check=True)
    worker = subprocess.Popen(
        [*rota, "worker", "--app", "first:app"], env=environment,
        stderr=subprocess.DEVNULL,
    )
    with psycopg.connect(dsn, autocommit=True) as connection:
        for _ in range(300):
            row = connection.execute(
                "select state, result from rota.jobs where state = 'completed'"
            ).fetchone()
            if row or worker.poll() is not None:
                break
            connection.execute("select pg_sleep(0.1)")
    worker.terminate()
    print("job:", row, "worker's exit code:", worker.wait(30))
    assert row == ("completed", "hello world") and worker.returncode == 0
"""


class Unready(Exception):
    """The release cannot be made; the message says why."""


def _demand(is_met: bool, otherwise: str) -> None:
    if not is_met:
        raise Unready(otherwise)


def _run(*command: str | Path, cwd: Path = CHECKOUT) -> None:
    # Nothing of this checkout may help: what is tested is what a user has.
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    done = subprocess.run(
        command, cwd=cwd, env=environment, stdin=subprocess.DEVNULL, check=False
    )
    _demand(done.returncode == 0, f"{' '.join(map(str, command))[:200]} failed")


def check_versions() -> None:
    """One version in rota.control, META.json, the changelog and the README."""
    version = schema.version()
    meta = json.loads((CHECKOUT / "META.json").read_text())
    provided = meta["provides"]["rota"]
    named = {meta["version"], provided["version"]}
    _demand(named == {version}, f"META.json names {named}, rota.control {version}")
    _demand(
        provided["file"] == f"build/rota--{version}.sql",
        f"META.json provides {provided['file']}",
    )
    heading = re.search(
        r"^## (\S+), (.+)$", (CHECKOUT / "CHANGELOG.md").read_text(), re.MULTILINE
    )
    _demand(
        heading is not None
        and heading[1] == version
        and re.fullmatch(r"\d{4}-\d\d-\d\d", heading[2]) is not None,
        f"CHANGELOG.md does not begin with a dated {version}: {heading and heading[0]}",
    )
    readme = (CHECKOUT / "README.md").read_text()
    shown = set(re.findall(r"installed rota (\S+)", readme))
    _demand(shown == {version}, f"README.md shows {shown}, not {version}")


def check_reference() -> None:
    """docs/reference.md is what the comments say."""
    with tempfile.TemporaryDirectory() as folder:
        fresh = Path(folder) / "reference.md"
        _run(sys.executable, CHECKOUT / "tools" / "reference.py", fresh)
        current = (CHECKOUT / "docs" / "reference.md").read_text()
        _demand(
            fresh.read_text() == current, "docs/reference.md is old: make reference"
        )


def check_distributions(folder: Path) -> Path:
    """Build both; the source holds what it takes to build the wheel, which is returned.

    The wheel is built from the source distribution, not from this checkout.
    """
    _run(sys.executable, "-m", "build", "--outdir", folder)
    (wheel,) = folder.glob("*.whl")
    (source,) = folder.glob("*.tar.gz")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        for path in sorted((CHECKOUT / "sql").rglob("*.*")):
            name = f"rota/sql/{path.relative_to(CHECKOUT / 'sql')}"
            _demand(name in names, f"the wheel lacks {name}")
            _demand(archive.read(name) == path.read_bytes(), f"{name} differs")
    for name in ("rota/py.typed", "rota/__main__.py"):
        _demand(name in names, f"the wheel lacks {name}")
    _demand(any(n.endswith("licenses/LICENSE") for n in names), "no licence in it")
    strangers = {n.split("/")[0] for n in names} - {
        "rota",
        f"rota-{schema.version()}.dist-info",
    }
    _demand(not strangers, f"the wheel also holds {strangers}")
    with tarfile.open(source) as tar:
        tops = {name.split("/")[1] for name in tar.getnames() if "/" in name}
    for top in ("sql", "runner", "LICENSE", "README.md", "CHANGELOG.md"):
        _demand(top in tops, f"the source distribution lacks {top}")
    return wheel


def check_wheel(wheel: Path, folder: Path) -> None:
    """In an environment of its own: version, install, one job, demo."""
    home = folder / "environment"
    venv.create(home, with_pip=True)
    python = home / "bin" / "python"
    _run(
        *(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"),
        f"{wheel}[demo]",
    )
    _run(home / "bin" / "rota", "version", cwd=folder)
    _run(python, "-c", FIRST_STEPS, cwd=folder)
    _run(python, "-m", "rota.demo", cwd=folder)


def main() -> int:
    """Run the checks in the order of their cost; 1 at the first that fails."""
    try:
        check_versions()
        check_reference()
        with tempfile.TemporaryDirectory(prefix="rota-release-") as name:
            folder = Path(name)
            wheel = check_distributions(folder / "dist")
            check_wheel(wheel, folder)
    except Unready as error:
        print(f"release-check: {error}", file=sys.stderr)
        return 1
    print(f"release-check: rota {schema.version()} is ready")
    return 0


if __name__ == "__main__":
    sys.exit(main())
