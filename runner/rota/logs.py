"""How the command logs: lines for people, or JSON for machines.

The library itself only writes to the logger "rota"; this is for the command.
"""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime

# What every record has; the rest came in by `extra`.
_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime"}


class JsonLines(logging.Formatter):
    """One JSON object a line: time, level, logger, message, ids, traceback."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        line |= {k: v for k, v in vars(record).items() if k not in _STANDARD}
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


def set_up(*, is_json: bool, level: str) -> None:
    """Log to standard error from now on."""
    handler = logging.StreamHandler()
    if is_json:
        handler.setFormatter(JsonLines())
    else:
        handler.setFormatter(
            logging.Formatter("%(asctime)s %(process)d %(levelname)s %(message)s")
        )
    logging.basicConfig(handlers=[handler], level=level.upper())
    if level != "debug":
        # It has a line for each connection of each try. What a handler cannot get for
        # that is in the error of its job.
        logging.getLogger("psycopg.pool").setLevel(logging.ERROR)
