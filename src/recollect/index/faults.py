"""What went wrong with the files of an index, as a sentence."""

import shutil
from pathlib import Path

from recollect.errors import StoreFault

ROOM = 1 << 20  # bytes: a disk with less than that is full


def is_full(folder: Path) -> bool:
    """Whether there is no more room on the disk that this folder is on."""
    try:
        return shutil.disk_usage(folder).free < ROOM
    except OSError:
        return False


def unwritable(what: str, folder: Path, reason: Exception) -> StoreFault:
    """An index could not be written. Its engine seldom says why; the disk does."""
    if is_full(folder):
        return StoreFault(f"The disk is full: {what} {folder} could not grow. What was stored before is intact.")
    return StoreFault(f"{what[:1].upper()}{what[1:]} {folder} could not be written: {reason}")
