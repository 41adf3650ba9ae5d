"""What went wrong with the files of a realm, as a sentence."""

import errno
import shutil
from pathlib import Path

from recollect.errors import ReadOnlyFolder, StoreFault

ROOM = 1 << 20  # bytes: a disk with less than that is full
READ_ONLY = {errno.EROFS, errno.EACCES, errno.EPERM}


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


def folder_fault(what: str, folder: Path, reason: OSError) -> StoreFault:
    """A file in the state folder could not be written."""
    if reason.errno in READ_ONLY:
        return ReadOnlyFolder(folder)
    return StoreFault(f"The {what} {folder} cannot be written: {reason.strerror}.")
