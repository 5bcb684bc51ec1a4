"""Conventions of the SQL files that neither the linter nor the catalog can see."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from rota import scripts

SOURCE = scripts.source()
FUNCTIONS = sorted((SOURCE / "functions").glob("*/*.sql"))
NAMES = [path.stem for path in FUNCTIONS]
CHECKOUT = Path(__file__).resolve().parents[2]

ATTRIBUTES = (  # in the order in which they stand, one a line
    r"returns .+",
    r"language (sql|plpgsql)",
    r"(immutable|stable|volatile)",
    r"parallel (safe|restricted|unsafe)",
    r"strict",
    r"security definer",
    r"rows \d+",
    r"set search_path = pg_catalog, pg_temp",
    r"set (?!search_path)\w+ = .+",
    r"(as \$\w*\$|begin atomic|return .+)",
)

by_function = pytest.mark.parametrize("path", FUNCTIONS, ids=NAMES)


def code_of(path: Path) -> str:
    """Return the SQL without comments."""
    text = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.DOTALL)
    return re.sub(r"--.*", "", text)


def test_every_file_is_assembled_exactly_once() -> None:
    assembled = list(scripts.files())
    apart = {"migrations", "scripts"}
    shipped = [p for p in SOURCE.rglob("*.sql") if not apart.intersection(p.parts)]
    assert sorted(assembled) == sorted(shipped)
    text = scripts.install_sql()
    for path in assembled:
        own = path.read_text().strip().replace("@VERSION@", scripts.version())
        assert text.count(own) == 1, path


def test_the_version_is_written_in_one_place() -> None:
    assert "@VERSION@" not in scripts.install_sql()
    holders = [
        path.name
        for path in [*SOURCE.rglob("*"), CHECKOUT / "pyproject.toml"]
        if path.is_file() and f"'{scripts.version()}'" in path.read_text()
    ]
    assert holders == ["rota.control"]


@pytest.mark.parametrize(
    "path",
    sorted(SOURCE.rglob("*.sql")),
    ids=lambda p: p.relative_to(SOURCE).as_posix(),
)
def test_lines_are_short_and_plain(path: Path) -> None:
    for number, line in enumerate(path.read_text().splitlines(), start=1):
        assert len(line) <= 88, f"{path.name}:{number}: too long"
        assert line.isascii(), f"{path.name}:{number}: not ASCII"
        assert line == line.rstrip(), f"{path.name}:{number}: ends in blanks"
        assert "\t" not in line, f"{path.name}:{number}: holds a tab"


def test_no_two_files_share_a_function() -> None:
    assert sorted(set(NAMES)) == sorted(NAMES)


@by_function
def test_a_file_holds_the_function_it_is_named_after(path: Path) -> None:
    created = re.findall(r"(?m)^create (?:or replace )?(.+?)\(", code_of(path))
    assert created == [f"function rota.{path.stem}"]
    assert len(path.read_text().splitlines()) <= 120


@by_function
def test_attributes_stand_in_the_house_order(path: Path) -> None:
    lines = iter(code_of(path).splitlines())
    ranks: list[int] = []
    for line in lines:
        if ranks or re.match(r"returns ", line):
            rank = next(
                (i for i, a in enumerate(ATTRIBUTES) if re.fullmatch(a, line.rstrip())),
                None,
            )
            # The columns of "returns table (" are indented and close with ")".
            if line.startswith((" ", ")")) and rank is None:
                continue
            assert rank is not None, f"unexpected attribute: {line}"
            ranks.append(rank)
            if rank == len(ATTRIBUTES) - 1:
                break
    assert ranks == sorted(ranks)
    assert {0, 1, 2, 3, len(ATTRIBUTES) - 1} <= set(ranks)


@by_function
def test_a_room_calls_only_rooms_before_it(path: Path) -> None:
    rooms = {p.stem: p.parent.name for p in FUNCTIONS}
    if path.stem == "exchange":  # settles, beats and claims in one call
        return
    for callee in re.findall(r"\brota\.(\w+)\(", code_of(path)):
        assert rooms.get(callee, "") <= path.parent.name, f"calls {callee}"


@by_function
def test_the_clock_is_read_in_one_place(path: Path) -> None:
    clocks = r"\b(now|clock_timestamp|statement_timestamp|transaction_timestamp)\(\)"
    words = r"\b(current_timestamp|localtimestamp|current_date|localtime)\b"
    found = re.search(rf"(?<!_){clocks}|{words}", code_of(path), re.IGNORECASE)
    assert (found is not None) == (path.stem == "_now")


@by_function
def test_no_function_catches_everything(path: Path) -> None:
    assert not re.search(r"\bwhen\s+others\b", code_of(path), re.IGNORECASE)


def test_bodies_in_sql_pass_the_linter(tmp_path: Path) -> None:
    """The linter takes a quoted body for a string: here it is given the bodies."""
    count = 0
    for path in FUNCTIONS:
        if not re.search(r"(?m)^language sql$", path.read_text()):
            continue
        body = re.search(
            r"^as \$\$\n(.*)^\$\$;", path.read_text(), re.MULTILINE | re.DOTALL
        )
        if body:
            lines = body[1].splitlines()
            shift = min(len(x) - len(x.lstrip()) for x in lines if x)
            text = "\n".join(line[shift:] for line in lines)
            (tmp_path / path.name).write_text(text + "\n")
            count += 1
    assert count
    done = subprocess.run(
        [
            *(sys.executable, "-m", "sqlfluff", "lint", "--disable-progress-bar"),
            # RF02, RF03: it takes parameters for columns that lack their table.
            *("--config", str(CHECKOUT / ".sqlfluff"), str(tmp_path)),
            *("--exclude-rules", "AL03,RF04,ST06,RF02,RF03"),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
