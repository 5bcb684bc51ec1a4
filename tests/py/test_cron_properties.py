"""What must hold of cron_next for any expression, zone and start."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from psycopg import sql

from cron_model import Model
from cron_random import Generator, Triple, changes, seed
from test_cron_oracle import same_zones

if TYPE_CHECKING:
    from datetime import datetime

    import psycopg

    from conftest import Connect

_POLICIES = [
    ("run_after", "first"),
    ("run_after", "both"),
    ("skip", "first"),
    ("skip", "both"),
]

_NEXT = """
create function pg_temp.fires(text, text, timestamptz, integer, text, text)
returns timestamptz[] language plpgsql as $$
begin
    return array(select f from rota.cron_next($1, $2, $3, $4, $5, $6) as f);
exception
    when sqlstate 'RT004' then return '{}';
end $$
"""

_BULK = """
select pg_temp.fires(t.expression, t.zone, t.after, %s, %s, %s)
from unnest(%s::text[], %s::text[], %s::timestamptz[])
    with ordinality as t (expression, zone, after, nth)
order by t.nth
"""


def fires(
    session: psycopg.Connection[Any],
    triples: list[Triple],
    count: int,
    policy: tuple[str, str] = ("run_after", "first"),
) -> list[list[datetime]]:
    rows = session.execute(
        _BULK,
        (
            count,
            *policy,
            [triple.expression for triple in triples],
            [triple.zone for triple in triples],
            [triple.after for triple in triples],
        ),
    )
    return [found for (found,) in rows]


def triples(connect: Connect, count: int) -> list[Triple]:
    generator = Generator(seed(), same_zones(connect))
    return [generator.triple() for _ in range(count)]


@pytest.fixture
def session(connect: Connect) -> psycopg.Connection[Any]:
    opened = connect()
    opened.execute(_NEXT)
    return opened


@pytest.mark.parametrize("policy", _POLICIES)
def test_nothing_is_missing_and_nothing_is_added_within_four_days(
    connect: Connect, session: psycopg.Connection[Any], policy: tuple[str, str]
) -> None:
    some = triples(connect, 120)
    compared = 0
    for triple, found in zip(some, fires(session, some, 300, policy), strict=True):
        until = triple.after + timedelta(days=4)
        if len(found) == 300:
            until = min(until, found[-1])
        expected = Model(triple.expression, triple.zone).between(
            triple.after, until, *policy
        )
        assert [at for at in found if at <= until] == expected, (seed(), triple)
        compared += len(expected)
    assert compared > 500


def test_fires_only_grow(connect: Connect, session: psycopg.Connection[Any]) -> None:
    some = triples(connect, 2000)
    for triple, found in zip(some, fires(session, some, 5), strict=True):
        assert all(a < b for a, b in pairwise([triple.after, *found])), triple


def test_n_fires_are_n_single_steps(
    connect: Connect, session: psycopg.Connection[Any]
) -> None:
    some = triples(connect, 2000)
    at_once = fires(session, some, 4)
    steps = [Triple(one.expression, one.zone, one.after) for one in some]
    for number in range(4):
        singles = fires(session, steps, 1)
        for nth, (found, single) in enumerate(zip(at_once, singles, strict=True)):
            assert found[number : number + 1] == single, some[nth]
            if single:
                step = steps[nth]
                steps[nth] = Triple(step.expression, step.zone, single[0])


def test_a_start_between_two_fires_finds_the_second(
    connect: Connect, session: psycopg.Connection[Any]
) -> None:
    some = triples(connect, 2000)
    pairs = [
        (Triple(one.expression, one.zone, a + (b - a) / 2), b)
        for one, found in zip(some, fires(session, some, 2), strict=True)
        if len(found) == 2
        for a, b in [found]
    ]
    found = fires(session, [between for between, _ in pairs], 1)
    for (between, expected), answer in zip(pairs, found, strict=True):
        assert answer == [expected], between


@pytest.mark.parametrize(
    "settings",
    [
        {"timezone": "Asia/Kathmandu"},
        {"timezone": "America/New_York", "datestyle": "SQL, DMY"},
        {"timezone": "Europe/London", "datestyle": "German"},
        {"timezone": "Australia/Lord_Howe", "intervalstyle": "sql_standard"},
        {"timezone_abbreviations": "Australia", "intervalstyle": "iso_8601"},
        {"search_path": "trap, pg_catalog"},
        {"plan_cache_mode": "force_generic_plan", "extra_float_digits": "0"},
    ],
)
def test_no_session_setting_changes_an_answer(
    connect: Connect, session: psycopg.Connection[Any], settings: dict[str, str]
) -> None:
    drawn = triples(connect, 600)
    some = [
        one for one, found in zip(drawn, fires(session, drawn, 1), strict=True) if found
    ]
    some += [
        Triple("@every 36h", one.zone, one.after) for one in some if changes(one.zone)
    ][:50]
    # Instants as text in UTC, since psycopg cannot read them in every DateStyle.
    ask = (
        "select array(select to_char(f at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS.US') "
        "from rota.cron_next(t.expression, t.zone, t.after, 3) as f) "
        "from unnest(%s::text[], %s::text[], %s::timestamptz[]) "
        "as t (expression, zone, after)"
    )
    asked = (
        [one.expression for one in some],
        [one.zone for one in some],
        [one.after for one in some],
    )
    expected = session.execute(ask, asked).fetchall()
    explain = (
        "select e.local_time, e.utc_time, e.is_skipped, e.note "
        "from unnest(%s::text[], %s::text[], %s::timestamptz[]) "
        "as t (expression, zone, after), rota.explain_schedule("
        "t.expression, t.zone, t.after, t.after + '30 hours') as e"
    )
    lists = ["30 1,2 * * *"] * len(some), *asked[1:]
    explained = session.execute(explain, lists).fetchall()
    # Were a search path not pinned, these would be found before the real ones.
    session.execute(
        """
        create schema trap;
        create function trap.timezone(text, timestamptz) returns timestamp
        language sql immutable as $$ select timestamp '2000-01-01' $$;
        create function trap.timezone(text, timestamp) returns timestamptz
        language sql immutable as $$ select timestamptz '2000-01-01 00:00+00' $$;
        create function trap.lower(text) returns text
        language sql immutable as $$ select 'trap'::text $$;
        create function trap.set_bit(bit, integer, integer) returns bit
        language sql immutable as $$ select $1 $$;
        """
    )
    for name, value in settings.items():
        session.execute(
            sql.SQL("set {} to {}").format(sql.Identifier(name), sql.SQL(value))
            if name == "search_path"
            else sql.SQL("set {} to {}").format(
                sql.Identifier(name), sql.Literal(value)
            )
        )

    assert session.execute(ask, asked).fetchall() == expected
    assert session.execute(explain, lists).fetchall() == explained


def test_an_explanation_lists_exactly_the_fires(
    connect: Connect, session: psycopg.Connection[Any]
) -> None:
    some = [
        one
        for one in triples(connect, 1200)
        if any(
            abs(change.at - one.after) < timedelta(days=2)
            for change in changes(one.zone)
        )
    ]
    for policy in _POLICIES:
        found = fires(session, some, 50, policy)
        for one, expected in zip(some, found, strict=True):
            if not expected:
                continue
            until = min(expected[-1], one.after + timedelta(days=3))
            lines = session.execute(
                "select due_at, is_skipped, note from rota.explain_schedule("
                "schedule => %s, timezone => %s, since => %s, until => %s, gap => %s, "
                "repeat => %s)",
                (one.expression, one.zone, one.after, until, *policy),
            ).fetchall()
            assert [at for at, is_skipped, _ in lines if not is_skipped] == [
                at for at in expected if at <= until
            ], (one, policy)
            assert all(note for _, is_skipped, note in lines if is_skipped)
            assert [at for at, _, _ in lines] == sorted(at for at, _, _ in lines)
