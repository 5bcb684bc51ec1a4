"""What must hold at any moment, whatever happened to the database before."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from psycopg.rows import tuple_row

if TYPE_CHECKING:
    from collections.abc import Collection

    import psycopg

QUERY = (
    Path(__file__)
    .parents[1]
    .joinpath("sql", "90_invariants", "invariants.sql")
    .read_text(encoding="utf-8")
)

# Whoever counted what was enqueued can ask where it is. Jobs of queues that keep no
# archive leave a count behind, purged ones nothing.
_LEDGER = """
with visible as (
    select v.id from rota.jobs as v
),

missing as (
    select e.id
    from unnest(%(enqueued)s::bigint[]) as e (id)
    where not exists (select from visible as v where v.id = e.id)
),

tallied as (
    select coalesce(sum(t.completed_count + t.cancelled_count), 0) as count
    from rota.tally as t
)

select 'no job appears from nowhere: job ' || v.id
from visible as v
where v.id <> all (%(enqueued)s::bigint[])
union all
select format(
    'no job vanishes: %%s are gone, %%s counted as finished and %%s purged',
    (select count(*) from missing), t.count, %(purged)s::bigint
)
from tallied as t
where t.count + %(purged)s <> (select count(*) from missing)
"""


def violations(
    connection: psycopg.Connection[Any],
    enqueued: Collection[int] | None = None,
    purged: int = 0,
) -> list[str]:
    """Return what does not hold in the database, a line each; empty when all is well.

    enqueued: ids of all jobs whose enqueueing was committed; None asks nothing of them.
    purged: how many of those were purged, by whatever rule.

    Floors are checked as this connection's session knows them.
    """
    with (
        connection.transaction(),
        connection.cursor(row_factory=tuple_row) as cursor,
    ):
        cursor.execute("set local jit = off")  # or compiling takes a second each time
        found = [": ".join(row) for row in cursor.execute(QUERY.encode()).fetchall()]
        if enqueued is not None:
            values = {"enqueued": sorted(enqueued), "purged": purged}
            ledger = cursor.execute(_LEDGER.encode(), values)
            found += [line for (line,) in ledger.fetchall()]
    return found
