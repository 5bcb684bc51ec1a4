"""docker-compose.yml: fit to scale and to stop, and its commands are real ones."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from waiting import PATIENCE, wait_until

if TYPE_CHECKING:
    from conftest import Connect

CHECKOUT = Path(__file__).resolve().parents[2]
RUNNER_GRACE = 30  # seconds a worker gives its jobs after SIGTERM, by default


@pytest.fixture(scope="module")
def services() -> dict[str, Any]:
    text = (CHECKOUT / "docker-compose.yml").read_text()
    loaded: dict[str, Any] = yaml.safe_load(text)["services"]
    return loaded


def rota(service: dict[str, Any], dsn: str) -> subprocess.Popen[bytes]:
    """Run a service's command as the image would: rota is its entry point."""
    mounts = dict(v.split(":")[:2] for v in service.get("volumes", ()))
    folders = {inside: CHECKOUT / outside for outside, inside in mounts.items()}
    return subprocess.Popen(
        [sys.executable, "-m", "rota", *service["command"]],
        cwd=folders.get(service.get("working_dir"), CHECKOUT),
        env=os.environ | {"DATABASE_URL": dsn},
        stdin=subprocess.DEVNULL,
    )


def test_it_starts_in_order(services: dict[str, Any]) -> None:
    assert services["postgres"]["healthcheck"]["test"][1] == "pg_isready"
    assert services["install"]["depends_on"] == {
        "postgres": {"condition": "service_healthy"}
    }
    assert services["worker"]["depends_on"] == {
        "install": {"condition": "service_completed_successfully"}
    }
    assert services["install"]["restart"] == "no"


def test_workers_scale(services: dict[str, Any]) -> None:
    assert not {"container_name", "ports", "hostname"} & set(services["worker"])


def test_workers_are_stopped_gently_and_given_time(services: dict[str, Any]) -> None:
    worker = services["worker"]
    assert worker["stop_signal"] == "SIGTERM"
    period = re.fullmatch(r"(\d+)s", worker["stop_grace_period"])
    assert period
    assert int(period[1]) > RUNNER_GRACE


def test_signals_reach_the_program() -> None:
    dockerfile = (CHECKOUT / "Dockerfile").read_text()
    assert 'ENTRYPOINT ["rota"]' in dockerfile  # not through a shell


def test_the_image_is_given_what_the_package_is_built_from() -> None:
    ignored = (CHECKOUT / ".dockerignore").read_text().split()
    for name in ("runner", "sql", "pyproject.toml", "README.md", "LICENSE"):
        assert f"!{name}" in ignored
        assert (CHECKOUT / name).exists()


def engine_answers() -> bool:
    if not shutil.which("docker"):
        return False
    for command in (["docker", "info"], ["docker", "compose", "version"]):
        done = subprocess.run(command, capture_output=True, check=False)
        if done.returncode != 0:
            return False
    return True


@pytest.mark.skipif(not engine_answers(), reason="no docker engine answers")
@pytest.mark.timeout(900)
def test_it_works_under_docker() -> None:
    def compose(*words: str) -> str:
        return subprocess.run(
            ["docker", "compose", "--project-name", f"rota-test-{os.getpid()}", *words],
            cwd=CHECKOUT,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=True,
        ).stdout

    psql = ("exec", "-T", "postgres", "psql", "-U", "postgres", "-Atc")
    count = "select count(*) from rota.jobs where state = 'completed'"
    try:
        compose("up", "--build", "--detach", "--wait", "postgres")
        compose("up", "--build", "--detach", "--scale", "worker=3", "worker")
        compose("run", "--rm", "install", "enqueue", "hello", '{"name": "world"}')
        wait_until(lambda: compose(*psql, count).strip() == "1")
        compose("stop", "worker")
        assert (
            compose(
                *psql, "select count(*) from rota.worker_status where state <> 'ended'"
            ).strip()
            == "0"
        )
    finally:
        compose("down", "--volumes", "--rmi", "local")


def test_install_may_run_again_and_again(
    services: dict[str, Any], empty_dsn: str
) -> None:
    assert "--upgrade" in services["install"]["command"]
    for _ in range(2):
        with rota(services["install"], empty_dsn) as process:
            assert process.wait(PATIENCE) == 0


def test_a_worker_works_and_stops_cleanly(
    services: dict[str, Any], dsn: str, connect: Connect
) -> None:
    connection = connect()
    with rota(services["worker"], dsn) as process:
        try:
            connection.execute(
                "select rota.enqueue(kind => 'hello', payload => '{\"name\": \"A\"}')"
            )
            row = wait_until(
                lambda: connection.execute(
                    "select result from rota.jobs where state = 'completed'"
                ).fetchone()
            )
            assert row == ("hello A",)
            process.send_signal(signal.SIGTERM)
            assert process.wait(PATIENCE) == 0
        finally:
            process.kill()
