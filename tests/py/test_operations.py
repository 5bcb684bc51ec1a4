"""docs/operations.md: each SQL block runs as it stands, beside some history."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from conftest import Connect

PAGE = Path(__file__).resolve().parents[2] / "docs" / "operations.md"
HISTORY = """
select rota.enqueue('send', run_at => now() - interval '1 minute');
select rota.enqueue('send', delay => '1 hour');
select rota.register_worker('one');
select id from rota.claim_jobs(1);
select rota.complete_job(1, 1);
select rota.create_schedule('nightly', '30 2 * * *', 'report');
"""


def test_every_block_runs_in_the_order_of_the_page(connect: Connect) -> None:
    connection = connect()
    connection.execute(HISTORY.encode())
    blocks = re.findall(
        r"^```sql\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE
    )
    assert len(blocks) > 10
    for block in blocks:
        connection.execute(block.encode())


def test_the_wait_of_a_completed_job_is_seen(connect: Connect) -> None:
    connection = connect()
    connection.execute(HISTORY.encode())
    (block,) = re.findall(
        r"^```sql\n(select\n    queue, count\(\*\) as completed.*?)^```",
        PAGE.read_text(),
        re.DOTALL | re.MULTILINE,
    )
    row = connection.execute(block.encode()).fetchone()
    assert row
    assert row[:2] == ("default", 1)
    assert row[2].total_seconds() >= 60
