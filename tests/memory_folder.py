"""A folder in memory for the files of tests: on a disk, tests spend half of their time waiting for it."""

import os
import shutil
from pathlib import Path

SHARED = Path("/dev/shm")
ROOM = 8 << 30  # bytes: a complete run needs less than half of them


def memory_folder() -> Path | None:
    """A folder in memory with room for a complete run, or None if there is none."""
    try:
        free_memory = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        has_room = min(free_memory, shutil.disk_usage(SHARED).free) >= ROOM
    except (OSError, ValueError):  # a system without either
        return None
    return SHARED if has_room and os.access(SHARED, os.W_OK) else None
