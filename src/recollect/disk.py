"""Turns disk errors of a realm into messages for people."""

import errno
import shutil
from pathlib import Path

from recollect.errors import ReadOnlyFolder, StoreFault

MIN_FREE = 1 << 20  # bytes: a disk with less free space counts as full
READ_ONLY = {errno.EROFS, errno.EACCES, errno.EPERM}


def is_disk_full(folder: Path) -> bool:
    """Whether the disk of this folder has no free space."""
    try:
        return shutil.disk_usage(folder).free < MIN_FREE
    except OSError:
        return False


def index_fault(what: str, folder: Path, reason: Exception) -> StoreFault:
    """The error of an index that could not be written. The engine seldom reports a full disk, so the disk is checked."""
    if is_disk_full(folder):
        return StoreFault(f"The disk is full: {what} {folder} could not grow. What was stored before is intact.")
    return StoreFault(f"{what[:1].upper()}{what[1:]} {folder} could not be written: {reason}")


def folder_fault(what: str, folder: Path, reason: OSError) -> StoreFault:
    """The error of a file in the state folder that could not be written."""
    if reason.errno in READ_ONLY:
        return ReadOnlyFolder(folder)
    return StoreFault(f"The {what} {folder} cannot be written: {reason.strerror}.")
