"""The scripts that install and upgrade rota, put together from the files of `sql/`.

Types and tables are the shape, which migrates; functions, views, comments and grants
are the behaviour, which is replayed whole; data is what a fresh database starts with.
Each script comes in two forms: plain, for psql and for this package, and as the script
of an extension, which the server runs inside a transaction of its own.
"""

from __future__ import annotations

import os
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

FIRST = "0.1.0"  # the first release: no migration leads to it

_BEGIN = "begin isolation level read committed;\n"
_COMMIT = "commit;\n"
_EXTENSION_ONLY = '\\echo This is for "{} extension rota", not for psql. \\quit\n'


class SchemaError(RuntimeError):
    """The schema in the database is not what was asked for."""


def source() -> Path:
    """Return the folder `sql/`: beside this file in a wheel, or in the checkout.

    ROTA_SQL_DIR names another one, for the tests that break a copy of it on purpose.
    """
    if chosen := os.environ.get("ROTA_SQL_DIR"):
        return Path(chosen)
    here = Path(__file__).resolve().parent
    for folder in (here / "sql", here.parents[1] / "sql"):
        if (folder / "rota.control").is_file():
            return folder
    raise SchemaError("this copy of rota came without its SQL: install it again")


@cache
def version() -> str:
    """Return the version of this package and of the schema it installs."""
    control = (source() / "rota.control").read_text(encoding="utf-8")
    match = re.search(r"^default_version = '([^']+)'", control, re.MULTILINE)
    if match is None:
        raise SchemaError("rota.control names no default_version")
    return match[1]


def number(text: str) -> tuple[int, ...]:
    """Return a version's three numbers, which compare as versions do."""
    match = re.match(r"(\d+)\.(\d+)\.(\d+)", text)
    if match is None:
        raise SchemaError(f"{text!r} is not a version of rota")
    return tuple(map(int, match.groups()))


def releases() -> list[str]:
    """Return the versions there are, oldest first: each has its migration."""
    found = {_release_of(path) for path in _migrations()}
    return [FIRST, *sorted(found, key=number)]


def files(*, roles: bool = True) -> Iterator[Path]:
    """Yield the files of an installation in the order in which they run."""
    yield from _shape()
    yield from _functions()
    yield from _named("views.sql", "comments.sql")
    yield from _privileges(roles=roles)
    yield from _named("data.sql", "partitions.sql")


def install_sql(*, roles: bool = True) -> str:
    """Return the plain script that installs rota.

    roles: make the four roles, if need be, and grant to them.
    """
    head = f"""\
/* rota @VERSION@: the whole schema, in one transaction.
   With psql: psql --set ON_ERROR_STOP=1 --file rota.sql */
{_BEGIN}"""
    return _text(head, _scripts("settings", "install"), files(roles=roles), _COMMIT)


def upgrade_sql(from_version: str, *, roles: bool = True) -> str:
    """Return the plain script that upgrades rota from that version.

    A first transaction does all but what `finish_sql` says.

    Raises SchemaError when there is no way from that version to this one.
    """
    head = f"""\
/* rota @FROM@ to @VERSION@.
   With psql: psql --set ON_ERROR_STOP=1 --file THIS_FILE
   It gives up when tables stay in use: run it again. */
{_BEGIN}"""
    return _text(
        head,
        _scripts("settings", "not_extension"),
        _upgrade(from_version, roles=roles),
        _COMMIT,
        finish_sql(),
        from_version=from_version,
    )


def finish_sql() -> str:
    """Return the end of an upgrade, which may have been interrupted before it.

    It drops functions once nobody runs them, and then reads large tables.
    """
    drop = _text(_BEGIN, _scripts("settings", "wait", "remove"), _COMMIT)
    return drop + _text(_BEGIN, _scripts("settings", "validate"), _COMMIT)


def roles_sql() -> str:
    """Return what an administrator runs where others may not create roles."""
    return _text(_named("roles.sql"))


def extension_sql() -> str:
    """Return the script of `create extension rota`."""
    return _text(
        _EXTENSION_ONLY.format("create"),
        _scripts("settings", "extension"),
        _shape(),
        _scripts("extension_shape"),
        _functions(),
        _named("views.sql", "comments.sql"),
        _privileges(roles=True),
        _scripts("restore"),
        _named("data.sql"),
        _scripts("configuration"),
    )


def extension_upgrade_sql(from_version: str) -> str:
    """Return the script of `alter extension rota update` from that version.

    Raises SchemaError when there is no way from that version to this one.
    """
    return _text(
        _EXTENSION_ONLY.format("alter"),
        _scripts("settings"),
        _upgrade(from_version, roles=True, extension=True),
        _scripts("remove", "validate", "configuration"),
        from_version=from_version,
    )


def write(folder: Path) -> None:
    """Write every script into that folder, named as psql and extensions want them."""
    folder.mkdir(parents=True, exist_ok=True)
    control = (source() / "rota.control").read_text(encoding="utf-8")
    texts = {
        "rota.sql": install_sql(),
        "rota-without-roles.sql": install_sql(roles=False),
        "rota-roles.sql": roles_sql(),
        "rota.control": control,
        f"rota--{version()}.sql": extension_sql(),
    }
    for release in releases()[:-1]:
        step = f"{release}--{version()}.sql"
        texts[f"rota--{step}"] = extension_upgrade_sql(release)
        texts[f"rota-upgrade--{step}"] = upgrade_sql(release)
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")


def _upgrade(
    from_version: str, *, roles: bool, extension: bool = False
) -> Iterator[Path]:
    """Yield what turns that version into this one, from its checks to its grants."""
    earlier = [r for r in releases() if number(r) < number(version())]
    if from_version not in earlier:
        raise SchemaError(
            f"there is no upgrade of rota {from_version} to {version()}, only of "
            + ", ".join(earlier)
        )
    due = [p for p in _migrations() if number(_release_of(p)) > number(from_version)]
    yield from _scripts("upgrade")
    # The functions, which take the longest, come before tables are locked; but what
    # their arguments and results are comes before them.
    yield from (path for path in due if path.stem.endswith(".types"))
    yield from _functions()
    yield from (path for path in due if not path.stem.endswith(".types"))
    yield from _scripts("restore") if extension else ()
    yield from _named("views.sql")
    # Comments and grants name functions without their arguments.
    yield from _scripts("leftovers")
    yield from _named("comments.sql")
    yield from _privileges(roles=roles)
    yield from _scripts("own_grants")


def _shape() -> Iterator[Path]:
    yield from _named("types.sql", "tables.sql")


def _functions() -> Iterator[Path]:
    yield from sorted((source() / "functions").glob("*/*.sql"))


def _migrations() -> list[Path]:
    """Return VERSION.types.sql and VERSION.sql of each release but the first."""
    return sorted(
        (source() / "migrations").glob("*.sql"), key=lambda p: number(_release_of(p))
    )


def _release_of(migration: Path) -> str:
    return migration.stem.removesuffix(".types")


def _privileges(*, roles: bool) -> Iterator[Path]:
    if roles:
        yield from _named("roles.sql", "revokes.sql", "grants.sql")
    else:
        yield from _named("revokes.sql")


def _named(*names: str) -> Iterator[Path]:
    yield from (source() / name for name in names)


def _scripts(*names: str) -> Iterator[Path]:
    yield from (source() / "scripts" / f"{name}.sql" for name in names)


def _text(*parts: str | Iterator[Path], from_version: str = "") -> str:
    texts: list[str] = []
    for part in parts:
        if isinstance(part, str):
            texts.append(part)
        else:
            texts += (path.read_text(encoding="utf-8").strip() + "\n" for path in part)
    text = "\n".join(texts).replace("@VERSION@", version())
    return text.replace("@FROM@", from_version)
