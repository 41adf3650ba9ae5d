"""The folder of a realm in memory, deleted with its process or, after a crash, by the next one."""

import atexit
import os
import shutil
import tempfile
from pathlib import Path

from recollect.processes import is_alive, start_time

NAME = "recollect-memory-{pid}-{began}-"


def create_temporary_folder() -> Path:
    """Create a folder that is deleted when this process ends. Also deletes those of crashed processes."""
    where = Path(tempfile.gettempdir())
    _remove_leftovers(where)
    pid = os.getpid()
    folder = Path(tempfile.mkdtemp(prefix=NAME.format(pid=pid, began=start_time(pid)), dir=where))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _remove_leftovers(where: Path) -> None:
    for left in where.glob(NAME.format(pid="*", began="*") + "*"):
        pid, start = left.name.split("-")[2:4]
        if pid.isdigit() and not (is_alive(int(pid)) and start_time(int(pid)) == start):
            shutil.rmtree(left, ignore_errors=True)  # another user's folder stays: we may not remove it
