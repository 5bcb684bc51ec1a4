"""Keep a server running on a small disk of its own. Run in a mount namespace.

The only argument is the folder to mount the disk on. Says "ready" once, starts the
server again whenever it ends, and stops it when standard input is closed.
"""

from __future__ import annotations

import select
import subprocess
import sys
from pathlib import Path

from faults.machine import Machine

SIZE = "192m"
SETTINGS = {"min_wal_size": "32MB", "max_wal_size": "64MB", "wal_recycle": "off"}


def main() -> int:
    disk = Path(sys.argv[1])
    subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={SIZE},mode=700", "none", str(disk)],
        check=True,
    )
    machine = Machine(disk, SETTINGS, place=disk.parent / "s")
    with machine:
        print("ready", flush=True)
        while not select.select([sys.stdin], [], [], 0.1)[0]:
            if not machine.is_up:
                machine.wait()
                machine.start()
    return 0


if __name__ == "__main__":
    sys.exit(main())
