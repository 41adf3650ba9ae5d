"""The folder of a realm in memory, deleted with its process or, after a crash, by the next one."""

import atexit
import os
import shutil
import tempfile
from pathlib import Path

from recollect.processes import is_alive, start_time

NAME = "recollect-memory-{pid}-{began}-"


def create_temporary_folder() -> Path:
    """Create a folder that is deleted when this process ends. Also deletes the folders of crashed processes."""
    parent = Path(tempfile.gettempdir())
    _remove_leftovers(parent)
    pid = os.getpid()
    folder = Path(tempfile.mkdtemp(prefix=NAME.format(pid=pid, began=start_time(pid)), dir=parent))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _remove_leftovers(parent: Path) -> None:
    for folder in parent.glob(NAME.format(pid="*", began="*") + "*"):
        pid, began = folder.name.split("-")[2:4]
        if pid.isdigit() and not (is_alive(int(pid)) and start_time(int(pid)) == began):
            shutil.rmtree(folder, ignore_errors=True)  # another user's folder stays: we may not remove it
