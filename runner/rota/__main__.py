"""The command `rota`."""

from __future__ import annotations

import argparse
import asyncio
import importlib
import json
import logging
import os
import signal
import sys
from contextlib import nullcontext
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg

from rota import client, logs, protocol, schema, scripts
from rota.app import App
from rota.errors import RotaError
from rota.processes import EXIT_UNUSABLE, Processes
from rota.pulse import pulse
from rota.worker import Worker

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rota.text import Json

logger = logging.getLogger("rota")

EXIT_DECLINED = 1
EXIT_UNFINISHED = 3
_NO_ROLES = "without the four roles: only the owner and whom it grants to may use rota"
_EXITS = """\
exit codes:
  0        all that ran has finished
  2        cannot work: wrong arguments, no such app or queue, schema missing or unfit,
           the server is read-only at the start
  3        the grace time was over: some jobs were handed back unfinished
  128 + n  a second signal (n: 2 SIGINT, 15 SIGTERM) ended it at once
"""


class Unusable(Exception):
    """Nothing that trying again would mend; the message is for the user."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit code."""
    options = _parser().parse_args(arguments)
    try:
        return int(options.run(options))
    except psycopg.errors.ReadOnlySqlTransaction as error:
        print(
            f"rota: this server is read-only: {error.diag.message_primary} (a standby, "
            "or default_transaction_read_only is on; say target_session_attrs="
            "read-write in the DSN to wait for a server that is not)",
            file=sys.stderr,
        )
        return EXIT_UNUSABLE
    except (RotaError, schema.SchemaError, psycopg.Error, Unusable) as error:
        hint = getattr(error, "hint", None)
        print(f"rota: {error}{f' ({hint})' if hint else ''}".strip(), file=sys.stderr)
        return EXIT_UNUSABLE


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="rota", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    worker = _command(commands, "worker", _worker, "claim jobs and run them")
    worker.epilog = _EXITS
    worker.formatter_class = argparse.RawDescriptionHelpFormatter
    worker.add_argument(
        "--app", required=True, metavar="MODULE:NAME", help="the rota.App"
    )
    worker.add_argument(
        "--queues", default="default", metavar="A,B", help="default: default"
    )
    worker.add_argument(
        "--concurrency", type=_count, default=10, help="jobs at once in a process"
    )
    worker.add_argument(
        "--processes", type=_count, default=1, help="worker processes under this one"
    )
    for name, default, text in (
        ("--lease", 30, "how long a silent worker keeps its jobs"),
        ("--grace", 30, "how long handlers may go on after a signal"),
        ("--poll", 5, "how often to ask when nobody wakes us"),
    ):
        worker.add_argument(
            *(name,),
            type=_seconds,
            default=timedelta(seconds=default),
            metavar="SECONDS",
            help=f"{text}, default {default}",
        )
    worker.add_argument(
        "--no-listen",
        action="store_true",
        help="for a pooler in transaction mode: poll only, prepare nothing",
    )
    worker.add_argument(
        "--listen-dsn",
        default=os.environ.get("ROTA_LISTEN_DSN"),
        metavar="DSN",
        help="where the server itself is, if --dsn leads to a pooler in transaction "
        "mode: to hear wake-ups there; default ROTA_LISTEN_DSN",
    )
    worker.add_argument(
        "--alive-file",
        type=Path,
        metavar="PATH",
        help="touch this file while the loop turns, for a liveness probe",
    )
    worker.add_argument("--name", help="shown in worker_status, default host:process")
    worker.add_argument("--json-logs", action="store_true", help="log JSON lines")
    worker.add_argument(
        "--log-level", default="info", choices=["debug", "info", "warning", "error"]
    )
    worker.add_argument("--child", action="store_true", help=argparse.SUPPRESS)

    install = _command(
        commands, "install", _install, "install the schema, if it is not there"
    )
    install.add_argument("--no-roles", action="store_true", help=_NO_ROLES)
    install.add_argument(
        "--upgrade",
        action="store_true",
        help="do as rota upgrade if an older version is there: for deployments",
    )
    upgrade = _command(
        commands, "upgrade", _upgrade, "bring the schema to this package's version"
    )
    for command in (install, upgrade):
        command.add_argument(
            "--wait",
            type=_seconds,
            default=timedelta(minutes=1),
            metavar="SECONDS",
            help="how long an upgrade tries again while others use the tables, "
            "default 60",
        )
    uninstall = _command(
        commands, "uninstall", _uninstall, "drop the schema with all its jobs"
    )
    uninstall.add_argument("--yes", action="store_true", help="do not ask")
    _command(commands, "status", _status, "show queues and workers")

    enqueue = _command(commands, "enqueue", _enqueue, "add a job and print its id")
    enqueue.add_argument("kind")
    enqueue.add_argument(
        "payload", type=_json, nargs="?", default={}, help="JSON, default {}"
    )
    enqueue.add_argument("--queue", default="default")
    enqueue.add_argument("--priority", type=int, default=0)
    enqueue.add_argument("--delay", type=_seconds, metavar="SECONDS")
    enqueue.add_argument(
        "--run-at",
        type=_instant,
        metavar="ISO",
        help="an instant with its offset from UTC",
    )
    enqueue.add_argument("--idempotency-key")
    enqueue.add_argument(
        "--on-duplicate", default="keep", choices=["keep", "replace", "reject"]
    )
    enqueue.add_argument("--max-attempts", type=_count)
    enqueue.add_argument("--timeout", type=_seconds, metavar="SECONDS")

    version = commands.add_parser("version", help="print the version")
    version.set_defaults(run=_version)
    text = "print the script that installs the schema, for psql"
    sql = commands.add_parser("sql", help=text, description=text)
    sql.set_defaults(run=_sql)
    sql.add_argument(
        "--upgrade-from", metavar="VERSION", help="print the one that upgrades instead"
    )
    either = sql.add_mutually_exclusive_group()
    either.add_argument("--no-roles", action="store_true", help=_NO_ROLES)
    either.add_argument(
        "--roles",
        action="store_true",
        help="only what makes the roles, for an administrator to run first",
    )
    sql.add_argument(
        "--into",
        type=Path,
        metavar="FOLDER",
        help="write all scripts there, also those of the extension",
    )
    return parser


def _command(
    commands: argparse._SubParsersAction[argparse.ArgumentParser],
    name: str,
    run: Callable[[argparse.Namespace], int],
    text: str,
) -> argparse.ArgumentParser:
    command = commands.add_parser(name, help=text, description=text)
    command.set_defaults(run=run)
    command.add_argument(
        "--dsn",
        default=os.environ.get("ROTA_DSN") or os.environ.get("DATABASE_URL", ""),
        help="where the database is; default ROTA_DSN, DATABASE_URL, or what libpq's "
        "PG* variables say",
    )
    return command


def _worker(options: argparse.Namespace) -> int:
    logs.set_up(is_json=options.json_logs, level=options.log_level)
    if options.processes > 1:
        if options.alive_file:
            raise Unusable("--alive-file is for one process, not with --processes")
        return asyncio.run(_run_processes(options.processes, options.dsn))
    worker = Worker(
        _load(options.app),
        options.dsn,
        queues=[queue.strip() for queue in options.queues.split(",")],
        concurrency=options.concurrency,
        lease=options.lease,
        grace=options.grace,
        poll=options.poll,
        is_listening=not options.no_listen,
        listen_dsn=options.listen_dsn,
        name=options.name,
    )
    if options.alive_file and not options.alive_file.absolute().parent.is_dir():
        raise Unusable(f"--alive-file: there is no folder {options.alive_file.parent}")
    return asyncio.run(_run_worker(worker, options.alive_file, is_child=options.child))


async def _run_worker(
    worker: Worker, alive_file: Path | None, *, is_child: bool
) -> int:
    loop = asyncio.get_running_loop()
    received: list[int] = []

    def on_signal(number: int) -> None:
        received.append(number)
        logger.info("got %s", signal.Signals(number).name)
        if len(received) == 1:
            worker.drain()
        else:
            worker.stop()

    def on_parent_gone() -> None:
        loop.remove_reader(sys.stdin)
        on_signal(signal.SIGTERM)

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, on_signal, number)
    if is_child:
        loop.add_reader(sys.stdin, on_parent_gone)
    with pulse(alive_file) if alive_file else nullcontext():
        unfinished_count = await worker.run()
    code = 0
    if len(received) > 1:
        code = 128 + received[-1]
    elif unfinished_count:
        logger.warning("%s jobs handed back unfinished", unfinished_count)
        code = EXIT_UNFINISHED
    if worker.has_stragglers:
        # A handler that does not end would keep the interpreter from ending.
        logging.shutdown()
        os._exit(code)
    return code


async def _run_processes(count: int, dsn: str) -> int:
    words = iter(sys.argv[1:])
    arguments = []
    for word in words:
        if word == "--processes":
            next(words)
        elif not word.startswith("--processes="):
            arguments.append(word)
    command = [sys.executable, "-m", "rota", *arguments, "--child"]
    processes = Processes(command, count, {**os.environ, "ROTA_DSN": dsn})
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, processes.signal, number)
    return await processes.run()


def _install(options: argparse.Namespace) -> int:
    with psycopg.connect(options.dsn, autocommit=True) as connection:
        try:
            schema.install(connection, roles=not options.no_roles)
        except schema.AlreadyInstalled:
            installed = schema.installed_version(connection)
            if installed and options.upgrade:
                return _upgrade(options)
            if installed != schema.version():
                raise
            print(f"rota {installed} is installed already")
            return 0
    print(f"installed rota {schema.version()}")
    return 0


def _upgrade(options: argparse.Namespace) -> int:
    with psycopg.connect(options.dsn, autocommit=True) as connection:
        before = schema.upgrade(connection, patience=options.wait)
    if before == schema.version():
        print(f"rota {before} is installed already")
    else:
        print(f"upgraded rota {before} to {schema.version()}")
    return 0


def _uninstall(options: argparse.Namespace) -> int:
    with psycopg.connect(options.dsn, autocommit=True) as connection:
        contents = schema.contents(connection)
        jobs = ", ".join(f"{count} {name}" for name, count in contents.jobs.items())
        print(
            f"This drops rota {contents.version} from the database"
            f" {connection.info.dbname}, {contents.size}:\n"
            f"  jobs: {jobs}, and all that are archived\n"
            f"  schedules: {contents.schedule_count}\n"
            f"  workers alive: {contents.worker_count}"
        )
        for other in contents.others:
            print(f"  not rota's, but depends on it: {other}")
        if not options.yes and not _is_confirmed(connection.info.dbname):
            print("rota: nothing was dropped", file=sys.stderr)
            return EXIT_DECLINED
        schema.uninstall(connection)
    print(
        "dropped; the roles rota_producer, rota_worker, rota_operator and rota_observer"
        " stay, other databases may use them"
    )
    return 0


def _is_confirmed(database: str) -> bool:
    if not sys.stdin.isatty():
        raise Unusable("nobody is there to ask: say --yes")
    return input("Type the name of the database to go on: ") == database


def _enqueue(options: argparse.Namespace) -> int:
    with psycopg.connect(options.dsn, autocommit=True) as connection:
        job = client.enqueue(
            connection,
            options.kind,
            options.payload,
            queue=options.queue,
            priority=options.priority,
            delay=options.delay,
            run_at=options.run_at,
            idempotency_key=options.idempotency_key,
            on_duplicate=options.on_duplicate,
            max_attempts=options.max_attempts,
            timeout=options.timeout,
        )
    print(job)
    return 0


def _status(options: argparse.Namespace) -> int:
    with psycopg.connect(options.dsn, autocommit=True) as connection:
        for call in (protocol.queue_stats(), protocol.worker_status()):
            print(_table(*call.on(connection)), end="\n\n")
    return 0


def _version(_options: argparse.Namespace) -> int:
    print(schema.version())
    return 0


def _sql(options: argparse.Namespace) -> int:
    if options.into:
        scripts.write(options.into)
        return 0
    if options.roles:
        text = scripts.roles_sql()
    elif options.upgrade_from:
        text = scripts.upgrade_sql(options.upgrade_from, roles=not options.no_roles)
    else:
        text = scripts.install_sql(roles=not options.no_roles)
    print(text, end="")
    return 0


def _table(names: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    cells = [list(names)]
    cells += [["" if value is None else str(value) for value in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join(
        "  ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)).rstrip()
        for line in cells
    )


def _load(name: str) -> App:
    module_name, _, attribute = name.partition(":")
    sys.path.insert(0, str(Path.cwd()))
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name and not f"{module_name}.".startswith(f"{error.name}."):
            raise  # the module is there, and misses another one
        raise Unusable(f"there is no module {module_name}") from error
    app = getattr(module, attribute or "app", None)
    if not isinstance(app, App):
        raise Unusable(f"{name} is not a rota.App: say module:name")
    return app


def _seconds(text: str) -> timedelta:
    return timedelta(seconds=float(text))


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be positive")
    return number


def _json(text: str) -> Json:
    try:
        value: Json = json.loads(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"not JSON: {error}") from error
    return value


def _instant(text: str) -> datetime:
    instant = datetime.fromisoformat(text)
    if instant.tzinfo is None:
        raise argparse.ArgumentTypeError("needs its offset from UTC, or Z")
    return instant


if __name__ == "__main__":
    sys.exit(main())
