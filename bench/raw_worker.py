"""The raw limit's worker process: the loop of `RawLoop`, and handlers that do nothing.

It stops at the first signal, in the middle of whatever it does.
"""

from __future__ import annotations

import argparse

from bench import starts
from bench.lab import connect
from bench.sides import RAW_FINISH, RAW_GATE, RAW_TAKE


def main() -> None:
    """Work until killed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--dsn", required=True)
    parser.add_argument("--batch", type=int, required=True)
    options = parser.parse_args()
    record = starts.recorder()
    with connect(options.dsn) as session, connect(options.dsn) as listener:
        listener.execute("listen raw")
        session.execute("select pg_advisory_lock_shared(%s)", [RAW_GATE])
        while True:
            jobs = session.execute(RAW_TAKE, [options.batch]).fetchall()
            if not jobs:
                for _ in listener.notifies(timeout=5, stop_after=1):
                    pass
                continue
            for job in jobs:
                record(job[1]["seq"])
            session.execute(RAW_FINISH, [[job[0] for job in jobs]])


if __name__ == "__main__":
    main()
