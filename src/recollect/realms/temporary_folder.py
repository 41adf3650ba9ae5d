"""Where a realm in memory has its files while its process lives. Nothing of them stays, not even after a crash."""

import atexit
import os
import shutil
import tempfile
from pathlib import Path

from recollect.processes import is_alive, start_time

NAME = "recollect-memory-{pid}-{began}-"


def create_temporary_folder() -> Path:
    """A new folder that is gone with this process; those of processes that crashed go now."""
    where = Path(tempfile.gettempdir())
    _sweep(where)
    pid = os.getpid()
    folder = Path(tempfile.mkdtemp(prefix=NAME.format(pid=pid, began=start_time(pid)), dir=where))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _sweep(where: Path) -> None:
    for left in where.glob(NAME.format(pid="*", began="*") + "*"):
        pid, start = left.name.split("-")[2:4]
        if pid.isdigit() and not (is_alive(int(pid)) and start_time(int(pid)) == start):
            shutil.rmtree(left, ignore_errors=True)  # another person's stays: we may not remove it
