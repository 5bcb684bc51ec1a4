"""The schema in a database: install, upgrade and remove it, and see whether it fits."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import psycopg
from psycopg import errors, sql

from rota import scripts
from rota.scripts import SchemaError as SchemaError
from rota.scripts import version as version

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import timedelta

Connection: TypeAlias = "psycopg.Connection[tuple[object, ...]]"


class AlreadyInstalled(SchemaError):
    """There is a schema rota in the database already."""


class NotInstalled(SchemaError):
    """There is no schema rota in the database, or it is not ours."""


class VersionMismatch(SchemaError):
    """The schema in the database and this package do not fit each other."""


class InUse(SchemaError):
    """Somebody held the tables for as long as we were willing to wait."""


@dataclass(frozen=True, slots=True)
class Contents:
    """What goes when rota is uninstalled.

    others: what is not rota's and goes with it, such as views on rota's.
    """

    version: str
    jobs: dict[str, int]
    schedule_count: int
    worker_count: int
    size: str
    others: list[str]


def install(connection: Connection, *, roles: bool = True) -> None:
    """Install rota in one transaction; nothing is left behind when it fails.

    roles: make the four roles, if need be, and grant to them.

    Raises AlreadyInstalled when there is a schema rota, SchemaError when the
    connection is inside a transaction, and psycopg's error for anything else.
    """
    try:
        _run(connection, scripts.install_sql(roles=roles))
    except errors.DuplicateSchema as error:
        found = installed_version(connection)
        raise AlreadyInstalled(
            "there is a schema rota in this database that is not ours:"
            " nothing was changed"
            if found is None
            else f"rota {found} is installed already{_remedy(found)}"
        ) from error


def upgrade(connection: Connection, *, patience: timedelta) -> str:
    """Bring the schema to this package's version; returns the one it had.

    Everybody may go on working. In its one transaction tables are locked for a moment;
    when others keep it from that, it gives way and tries again, for as long as patience
    says. Nothing is changed until it succeeds.

    Raises NotInstalled, VersionMismatch when the schema is newer, InUse, SchemaError
    when the connection is inside a transaction, and psycopg's error for anything else.
    """
    _check_idle(connection)
    for is_last in _pauses(patience):
        installed = installed_version(connection)
        _rollback(connection)
        if installed is None:
            raise NotInstalled(_NOT_INSTALLED)
        if scripts.number(installed) > scripts.number(version()):
            raise VersionMismatch(_mismatch(installed))
        try:
            if installed == version():
                _run(connection, scripts.finish_sql())
            elif _is_extension(connection):
                _update_extension(connection)
            else:
                roles = _has_roles(connection)
                _run(connection, scripts.upgrade_sql(installed, roles=roles))
        except errors.LockNotAvailable as error:
            if is_last:
                raise InUse(
                    "rota's tables stayed in use, nothing was changed: look in"
                    " pg_stat_activity for transactions that stay open"
                ) from error
        except psycopg.Error as error:
            # Another upgrade was quicker: see what there is now.
            if is_last or error.sqlstate != "RT006":
                raise
        else:
            return installed
    raise AssertionError("the last try returns or raises")


def contents(connection: Connection) -> Contents:
    """Return what `uninstall` would drop; raises NotInstalled."""
    installed = installed_version(connection)
    if installed is None:
        raise NotInstalled(_NOT_INSTALLED)
    queues = connection.execute(
        "select coalesce(sum(scheduled_count), 0)::bigint as scheduled,"
        " coalesce(sum(queued_count), 0)::bigint as queued,"
        " coalesce(sum(running_count), 0)::bigint as running,"
        " coalesce(sum(dead_count), 0)::bigint as dead from rota.queue_stats"
    )
    names = [column.name for column in queues.description or ()]
    counts = queues.fetchall()[0]
    ((schedule_count, worker_count, size),) = connection.execute(
        "select (select count(*) from rota.schedule_status),"
        " (select count(*) from rota.worker_status where state = 'alive'),"
        " pg_size_pretty(sum(pg_total_relation_size(c.oid))) from pg_class as c"
        " where c.relnamespace = 'rota'::regnamespace and c.relkind = 'r'"
    ).fetchall()
    others = connection.execute(_OTHERS).fetchall()
    return Contents(
        version=installed,
        jobs={name: int(str(count)) for name, count in zip(names, counts, strict=True)},
        schedule_count=int(str(schedule_count)),
        worker_count=int(str(worker_count)),
        size=str(size),
        others=[str(name) for (name,) in others],
    )


def uninstall(connection: Connection) -> None:
    """Drop the schema, or the extension, with all jobs; the roles stay.

    Raises NotInstalled when there is none that is ours, InUse when somebody holds its
    tables, and psycopg's error for anything else.
    """
    if installed_version(connection) is None:
        raise NotInstalled(_NOT_INSTALLED)
    try:
        with connection.transaction():
            connection.execute("set local client_min_messages = warning")
            connection.execute("set local lock_timeout = '5s'")
            connection.execute("drop extension if exists rota cascade")
            connection.execute("drop schema rota cascade")
    except errors.LockNotAvailable as error:
        raise InUse(
            "rota's tables are in use, nothing was dropped: stop the workers first"
        ) from error


def installed_version(connection: Connection) -> str | None:
    """Return the version in the database; None when rota is not installed there."""
    found = connection.execute(
        "select to_regprocedure('rota.version()') is not null"
    ).fetchone()
    if found is None or not found[0]:
        return None
    row = connection.execute("select rota.version()").fetchone()
    return None if row is None else str(row[0])


async def handshake(
    connection: psycopg.AsyncConnection[tuple[object, ...]],
) -> str:
    """Return the version in the database, having checked that it fits this package.

    Raises NotInstalled, or VersionMismatch as `check_version` does.
    """
    try:
        cursor = await connection.execute("select rota.version()")
    except (errors.InvalidSchemaName, errors.UndefinedFunction) as error:
        raise NotInstalled(_NOT_INSTALLED) from error
    row = await cursor.fetchone()
    installed = str(row[0]) if row else ""
    check_version(installed)
    return installed


def check_version(installed: str) -> None:
    """Raise VersionMismatch unless a schema of that version serves this package.

    The schema may be newer than the package within one major version, so that it
    can be upgraded first; it may not be older.
    """
    schema, package = _major_minor(installed), _major_minor(version())
    if schema[0] != package[0] or schema < package:
        raise VersionMismatch(_mismatch(installed))


_NOT_INSTALLED = "rota is not installed in this database: run rota install"

# What depends on rota's tables, views, types and functions and is not in its schema.
_OTHERS = """
with ours as (
    select 'pg_class'::regclass as class, c.oid as object
    from pg_class as c
    where c.relnamespace = 'rota'::regnamespace
    union all
    select 'pg_type'::regclass, t.oid
    from pg_type as t
    where t.typnamespace = 'rota'::regnamespace
    union all
    select 'pg_proc'::regclass, p.oid
    from pg_proc as p
    where p.pronamespace = 'rota'::regnamespace
),

dependent as (
    select
        case when r.oid is null then d.classid else 'pg_class'::regclass end as class,
        coalesce(r.ev_class, d.objid) as object,
        d.objsubid as part
    from pg_depend as d
    inner join ours as o on o.class = d.refclassid and o.object = d.refobjid
    left join pg_rewrite as r
        on d.classid = 'pg_rewrite'::regclass and r.oid = d.objid
    where d.deptype in ('n', 'a')
)

select distinct pg_describe_object(d.class, d.object, d.part) as name
from dependent as d
cross join lateral pg_identify_object(d.class, d.object, 0) as i
where
    not exists (
        select from ours as o where o.class = d.class and o.object = d.object
    )
    and split_part(i.identity, ' on ', 2) not like 'rota.%'
    and i.identity not like '% for rota.%'
    and i.type not in ('default value', 'toast table', 'extension')
order by name
"""


def _run(connection: Connection, script: str) -> None:
    """Run a script that begins and ends its own transactions."""
    _check_idle(connection)
    try:
        # Bytes and no parameters: one round trip of many statements.
        connection.execute(script.encode())
    except BaseException:
        _rollback(connection)
        raise


def _check_idle(connection: Connection) -> None:
    if connection.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
        raise SchemaError("this cannot be done inside another transaction")


def _rollback(connection: Connection) -> None:
    if not connection.closed:
        connection.rollback()


def _pauses(patience: timedelta) -> Iterator[bool]:
    """Yield for each try whether it is the last, and pause in between."""
    end = time.monotonic() + patience.total_seconds()
    pause = 0.1
    while time.monotonic() + pause < end:
        yield False
        time.sleep(pause)
        pause = min(2 * pause, 2.0)
    yield True


def _is_extension(connection: Connection) -> bool:
    row = connection.execute(
        "select exists (select from pg_extension where extname = 'rota')"
    ).fetchone()
    _rollback(connection)
    return bool(row and row[0])


def _update_extension(connection: Connection) -> None:
    is_there = connection.execute(
        "select from pg_available_extension_versions"
        " where name = 'rota' and version = %s",
        [version()],
    ).fetchone()
    _rollback(connection)
    if is_there is None:
        raise SchemaError(
            f"rota is installed as an extension, and the server has no files of"
            f" version {version()}: run make install there, then try again"
        )
    update = sql.SQL("alter extension rota update to {}").format(version())
    with connection.transaction():
        connection.execute(update)


def _has_roles(connection: Connection) -> bool:
    """Tell whether the installation grants to rota's roles, or was made without."""
    row = connection.execute(
        "select exists (select from pg_namespace as n"
        " cross join lateral aclexplode(n.nspacl) as a"
        " where n.nspname = 'rota' and a.grantee = to_regrole('rota_producer'))"
    ).fetchone()
    _rollback(connection)
    return bool(row and row[0])


def _mismatch(installed: str) -> str:
    return (
        f"the database has rota {installed}, this package is {version()}"
        f"{_remedy(installed)}"
    )


def _remedy(installed: str) -> str:
    if installed == version():
        return ""
    if scripts.number(installed) < scripts.number(version()):
        return ": run rota upgrade"
    return ": run pip install --upgrade rota"


def _major_minor(text: str) -> tuple[int, int]:
    match = re.match(r"(\d+)\.(\d+)", text)
    if match is None:
        raise VersionMismatch(f"{text!r} is not a version of rota")
    return int(match[1]), int(match[2])
