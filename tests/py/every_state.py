"""A database with something in every table and a job in every state, and what to see.

Made by calls that every release has, so that an earlier one can be filled as well.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from sessions import claim, column, register, rows, value

if TYPE_CHECKING:
    from sessions import Session

Content = dict[str, list[dict[str, Any]]]

QUEUES = ["default", "mail", "paused", "unkept"]


def fill(session: Session) -> None:
    session.execute(_SETTINGS.encode())
    clock = value(session, "select pg_get_functiondef('rota._now'::regproc)")
    for age in ("2 days", "1 day"):
        session.execute(
            "create or replace function rota._now() returns timestamptz"
            " language sql volatile parallel unsafe"
            f" as $$ select clock_timestamp() - interval '{age}' $$".encode()
        )
        session.execute("select rota.ensure_partitions()")
        _past(session)
    session.execute(clock.encode())
    session.execute("select rota.maintain()")
    _present(session)


_SETTINGS = """
select rota.alter_settings(retention => '60 days', timeout_grace => '3 s');
select rota.create_retry_policy(
    'listed', 'list', base => null, delays => '{1 s,5 s}', jitter => 'none'
);
select rota.create_retry_policy('steady', 'fixed', base => '7 s');
select rota.alter_queue('default', max_attempts => 7);
select rota.create_queue('mail', 3, 'listed', '1 minute', retention => '9 d');
select rota.create_queue('paused', is_notifying => false);
select rota.create_queue('unkept', retention => '0');
select rota.pause_queue('paused');
select rota.create_schedule(
    'leap day', '0 3 29 2 *', 'report',
    timezone => 'Europe/Berlin', queue => 'mail', retry_policy => 'steady'
);
select rota.create_schedule('often', '@every 1 hour', 'tick');
select rota.pause_schedule('often', 'not now');
"""

_WAITING = """
select rota.enqueue(
    'later', delay => '1 day', queue => 'mail', idempotency_key => 'later',
    timeout => '5 s', retry_policy => 'steady'
);
select rota.enqueue('soon', queue => 'mail', priority => 3) from generate_series(1, 4);
select rota.enqueue('stuck', queue => 'paused');
select rota.enqueue('plain', idempotency_key => 'plain', key_ttl => '1 day');
select rota.run_schedule_now('leap day');
"""


def _past(session: Session) -> None:
    """Put jobs into today's partition of the archive, by whatever day it is."""
    worker = register(session)
    session.execute(
        "select rota.enqueue('done', jsonb_build_object('n', n), idempotency_key =>"
        " 'done ' || n || rota._now(), key_ttl => '30 days')"
        " from generate_series(1, 5) as n"
    )
    for job, execution in claim(session, worker, 5):
        session.execute(
            "select rota.complete_job(%s, %s, '{\"ok\": true}')", [job, execution]
        )
    session.execute("select rota.cancel_job(rota.enqueue('unwanted'), 'changed mind')")
    session.execute("select rota.enqueue('fragile', max_attempts => 1)")
    ((job, execution),) = claim(session, worker)
    session.execute("select rota.fail_job(%s, %s, 'broke')", [job, execution])
    session.execute("select rota.deregister_worker(%s)", [worker])


def _present(session: Session) -> None:
    worker = register(session)
    session.execute("select rota.enqueue('count', queue => 'unkept')")
    for job, execution in rows(
        session, f"select id, execution from rota.claim_jobs({worker}, '{{unkept}}')"
    ):
        session.execute("select rota.complete_job(%s, %s)", [job, execution])

    session.execute(
        "select rota.enqueue('work', priority => n, idempotency_key => 'running ' || n)"
        " from generate_series(5, 10) as n"
    )
    held = claim(session, worker, 6)
    session.execute("select rota.cancel_job(%s)", [held[0][0]])
    session.execute("select rota.release_job(%s, %s)", [*held[1]])
    session.execute("select rota.snooze_job(%s, %s, '1 hour')", [*held[2]])
    session.execute("select rota.fail_job(%s, %s, 'once')", [*held[3]])
    session.execute("select rota.fail_job(%s, %s, 'never', false)", [*held[4]])
    session.execute(_WAITING.encode())


def content(session: Session) -> Content:
    """Return all rows of all tables, partitions being part of their table."""
    tables = column(
        session,
        "select relname from pg_class where relnamespace = 'rota'::regnamespace"
        " and relkind in ('r', 'p') and not relispartition order by relname",
    )
    return {
        table: ordered(column(session, f"select to_jsonb(t) from rota.{table} as t"))
        for table in tables
    }


def ordered(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: json.dumps(row, sort_keys=True))


def states(session: Session) -> set[str]:
    return set(column(session, "select distinct state from rota.jobs"))


def go_on(session: Session) -> None:
    """Enqueue and run what there is; nothing is missing and nothing begins again."""
    before = set(column(session, "select id from rota.jobs"))
    last_position = value(session, "select max(position) from rota.job")
    queued = value(
        session, "select count(*) from rota.job where state = 'queued'"
    ) - value(session, "select count(*) from rota.jobs where queue = 'paused'")

    plain = value(session, "select id from rota.jobs where kind = 'plain'")
    assert plain == value(
        session, "select rota.enqueue('plain', idempotency_key => 'plain')"
    )
    new = value(session, "select rota.enqueue('new')")
    assert new > max(before)
    assert last_position < value(
        session, f"select position from rota.job where id = {new}"
    )
    assert value(session, "select rota.register_worker('next')") > value(
        session, "select max(worker_id) from rota.executions"
    )

    worker = register(session)
    claimed = rows(
        session,
        "select id, execution from rota.claim_jobs(%(worker)s, %(queues)s, 1000)",
        worker=worker,
        queues=QUEUES,
    )
    assert len(claimed) == queued + 1
    ids, executions = ([row[i] for row in claimed] for i in (0, 1))
    assert sorted(ids) == column(
        session,
        "select rota.complete_jobs(%(ids)s, %(executions)s) as id order by id",
        ids=ids,
        executions=executions,
    )

    # What the earlier worker still held was finished by it, or comes back when it ends.
    (earlier,) = set(
        column(session, "select worker_id from rota.job where state = 'running'")
    )
    session.execute("select rota.deregister_worker(%s)", [earlier])
    dead = value(session, "select count(*) from rota.dead_letters")
    assert len(rows(session, "select rota.replay_dead(queue => 'default')")) == dead
    assert value(session, "select (rota.maintain()).purged_count") == 0
    assert states(session) <= {"completed", "cancelled", "queued", "scheduled"}

    after = set(column(session, "select id from rota.jobs"))
    assert after == before | {new}
    assert len(after) == value(session, "select count(*) from rota.jobs")
