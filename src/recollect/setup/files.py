"""Reads and writes files of agents: atomically, through links, with their mode and owner."""

import errno
import os
import stat
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

PRIVATE_FILE = 0o600
ANY_WRITE = 0o222
SHARED_FILE, SHARED_FOLDER = 0o644, 0o755  # in projects, whose files others read too


class ChangedMeanwhile(Exception):
    """Another program has written the file since it was read."""


def digest(content: bytes | None) -> str | None:
    return None if content is None else sha256(content).hexdigest()


def read(path: Path) -> bytes | None:
    """The content of a file, or None if it does not exist. Raises OSError."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def is_read_only(path: Path) -> bool:
    """Whether the owner has protected a file. A rename would replace it all the same, and root may write anything."""
    try:
        return not path.stat().st_mode & ANY_WRITE or not os.access(path, os.W_OK)
    except FileNotFoundError:
        return False


def unfinished(path: Path) -> Path:
    """The name of a file's new content until it is complete."""
    return path.with_name(f".recollect-{sha256(os.fsencode(path.name)).hexdigest()[:16]}")


def write(path: Path, content: bytes, expected: bytes | None, *, shared: bool = False) -> None:
    """Replace a file by a rename, if it still has the expected content. Raises OSError or `ChangedMeanwhile`."""
    new = unfinished(path)
    new.unlink(missing_ok=True)  # of a setup that was killed; the lock keeps other ones away
    try:
        before = path.stat()
    except FileNotFoundError:
        before = None
    if is_read_only(path):
        raise PermissionError(errno.EACCES, "it is read-only", str(path))
    try:
        handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, PRIVATE_FILE)
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
            if before is not None:
                with suppress(PermissionError):  # only root may give a file to someone else
                    os.fchown(file.fileno(), before.st_uid, before.st_gid)
                os.fchmod(file.fileno(), stat.S_IMODE(before.st_mode))
            elif shared:
                os.fchmod(file.fileno(), SHARED_FILE)
        if read(path) != expected:
            raise ChangedMeanwhile(path)
        new.replace(path)
    except BaseException:
        new.unlink(missing_ok=True)
        raise


def delete(path: Path, expected: bytes) -> None:
    """Delete a file, if it still has the expected content."""
    if read(path) != expected:
        raise ChangedMeanwhile(path)
    path.unlink()


def missing_folders(path: Path) -> list[Path]:
    """The folders above a file that do not exist, outermost first."""
    return [folder for folder in reversed(path.parents) if not folder.exists()]


def make_folders(path: Path, *, shared: bool = False) -> None:
    """Create the folders above a file."""
    for folder in missing_folders(path):
        folder.mkdir(exist_ok=True)
        if shared:
            folder.chmod(SHARED_FOLDER)


def remove_empty(folders: list[str]) -> None:
    """Remove those of these folders that are empty, innermost first."""
    for folder in sorted(folders, key=len, reverse=True):
        with suppress(OSError):  # it has files, is already gone, or cannot be removed
            Path(folder).rmdir()
