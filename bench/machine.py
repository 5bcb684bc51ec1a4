"""What the figures were taken on."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import psycopg

from rota import schema


@dataclass(frozen=True, slots=True)
class Facts:
    """What one needs to know to read the figures."""

    processor: str
    cores: int
    memory_gib: int
    system: str
    load: float  # processes running or waiting on average, in the minute before
    python: str
    postgresql: str
    psycopg: str
    rota: str
    settings: dict[str, str]


_SETTINGS = (
    "fsync",
    "synchronous_commit",
    "shared_buffers",
    "max_wal_size",
    "autovacuum",
)


def facts(dsn: str) -> Facts:
    """Look at the machine and at the server."""
    with psycopg.connect(dsn) as session:
        settings = {}
        for name in _SETTINGS:
            row = session.execute("select current_setting(%s)", [name]).fetchone()
            settings[name] = str(row[0]) if row else ""
        version = session.info.parameter_status("server_version") or ""
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return Facts(
        processor=_processor(),
        cores=os.cpu_count() or 0,
        memory_gib=round(pages / 2**30),
        system=f"{platform.system()} {platform.release()}",
        load=round(os.getloadavg()[0], 1),
        python=platform.python_version(),
        postgresql=version.split()[0],
        psycopg=metadata.version("psycopg"),
        rota=schema.version(),
        settings=settings,
    )


def summary(dsn: str) -> str:
    """Say it in a line."""
    seen = facts(dsn)
    return (
        f"rota {seen.rota}, PostgreSQL {seen.postgresql}, Python {seen.python}, "
        f"{seen.cores} cores of {seen.processor}, load {seen.load}"
    )


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
