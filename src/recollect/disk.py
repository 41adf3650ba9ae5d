"""Errors of the disk under a realm, as sentences."""

import errno
import shutil
from pathlib import Path

from recollect.errors import ReadOnlyFolder, StoreFault

LEAST_FREE = 1 << 20  # bytes: a disk with less than that is full
READ_ONLY = {errno.EROFS, errno.EACCES, errno.EPERM}


def is_disk_full(folder: Path) -> bool:
    """Whether the disk of this folder has no room left."""
    try:
        return shutil.disk_usage(folder).free < LEAST_FREE
    except OSError:
        return False


def index_fault(what: str, folder: Path, reason: Exception) -> StoreFault:
    """Why an index could not be written. Its engine seldom tells that the disk is full; the disk does."""
    if is_disk_full(folder):
        return StoreFault(f"The disk is full: {what} {folder} could not grow. What was stored before is intact.")
    return StoreFault(f"{what[:1].upper()}{what[1:]} {folder} could not be written: {reason}")


def folder_fault(what: str, folder: Path, reason: OSError) -> StoreFault:
    """Why a file in the state folder could not be written."""
    if reason.errno in READ_ONLY:
        return ReadOnlyFolder(folder)
    return StoreFault(f"The {what} {folder} cannot be written: {reason.strerror}.")
