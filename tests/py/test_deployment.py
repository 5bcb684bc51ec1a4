"""The examples for systemd and Kubernetes: real options, and time enough to drain."""

from __future__ import annotations

import configparser
import contextlib
import os
import shlex
import signal
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from rota.__main__ import EXIT_UNFINISHED, _install, _parser
from rota.processes import EXIT_UNUSABLE
from rota.worker import LAST_WORDS_SECONDS
from runner_process import Bench
from waiting import wait_until

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from conftest import Connect

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.fixture(scope="module")
def unit() -> configparser.ConfigParser:
    parser = configparser.ConfigParser(interpolation=None, delimiters=["="])
    parser.optionxform = str  # type: ignore[assignment]
    parser.read(EXAMPLES / "rota-worker@.service")
    return parser


@pytest.fixture(scope="module")
def manifests() -> dict[str, Any]:
    documents = yaml.safe_load_all((EXAMPLES / "kubernetes.yaml").read_text())
    return {document["kind"]: document["spec"] for document in documents}


@pytest.fixture(scope="module")
def pod(manifests: dict[str, Any]) -> dict[str, Any]:
    spec: dict[str, Any] = manifests["Deployment"]["template"]["spec"]
    return spec


@pytest.fixture
def bench(dsn: str, tmp_path: Path, connect: Connect) -> Iterator[Bench]:
    with contextlib.closing(Bench(dsn, tmp_path, connect())) as made:
        yield made


def parsed(arguments: list[str]) -> argparse.Namespace:
    return _parser().parse_args(arguments)


def test_the_unit_starts_a_worker_and_lets_it_drain(
    unit: configparser.ConfigParser,
) -> None:
    service = unit["Service"]
    program, *arguments = shlex.split(service["ExecStart"])
    assert Path(program).name == "rota"
    grace = parsed(arguments).grace.total_seconds()
    assert float(service["TimeoutStopSec"]) > grace + LAST_WORDS_SECONDS
    assert service["KillSignal"] == "SIGTERM"


def test_the_unit_knows_the_exit_codes(unit: configparser.ConfigParser) -> None:
    service = unit["Service"]
    assert int(service["RestartPreventExitStatus"]) == EXIT_UNUSABLE
    assert int(service["SuccessExitStatus"]) == EXIT_UNFINISHED


def test_the_pod_starts_a_worker_and_lets_it_drain(pod: dict[str, Any]) -> None:
    (container,) = pod["containers"]
    grace = parsed(container["args"]).grace.total_seconds()
    assert pod["terminationGracePeriodSeconds"] > grace + LAST_WORDS_SECONDS


def test_the_pod_is_probed_by_the_file_that_its_worker_touches(
    pod: dict[str, Any],
) -> None:
    (container,) = pod["containers"]
    file = str(parsed(container["args"]).alive_file)
    for probe in ("livenessProbe", "readinessProbe"):
        assert file in " ".join(container[probe]["exec"]["command"])


def test_the_installing_job_serves_the_first_install_and_later_ones(
    manifests: dict[str, Any],
) -> None:
    (container,) = manifests["Job"]["template"]["spec"]["containers"]
    options = parsed(container["args"])
    assert options.run is _install
    assert options.upgrade
    assert manifests["Job"]["ttlSecondsAfterFinished"] > 0


def test_the_pulse_of_a_worker_satisfies_the_probe_until_it_stops(
    bench: Bench, pod: dict[str, Any], tmp_path: Path
) -> None:
    (container,) = pod["containers"]
    named = str(parsed(container["args"]).alive_file)
    file = tmp_path / "alive"
    command = [
        word.replace(named, str(file))
        for word in container["livenessProbe"]["exec"]["command"]
    ]

    def is_alive() -> bool:
        return subprocess.run(command, check=False).returncode == 0

    runner = bench.ready("--alive-file", str(file))
    wait_until(is_alive)
    runner.stop()
    long_ago = time.time() - 100
    os.utime(file, (long_ago, long_ago))
    assert not is_alive()
    runner.signal(signal.SIGCONT)
    wait_until(is_alive)
    runner.signal(signal.SIGTERM)
    assert runner.exit_code() == 0
    assert not file.exists()


def test_a_pulse_that_cannot_be_written_is_refused(
    bench: Bench, tmp_path: Path
) -> None:
    runner = bench.start("--alive-file", str(tmp_path / "missing" / "alive"))
    assert runner.exit_code() == EXIT_UNUSABLE
    assert "there is no folder" in runner.output
    runner = bench.start("--processes", "2", "--alive-file", str(tmp_path / "alive"))
    assert runner.exit_code() == EXIT_UNUSABLE
    assert "not with --processes" in runner.output
