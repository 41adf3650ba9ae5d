"""Locks of a realm, shared by all processes. The kernel releases a lock when its holder ends."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from recollect.disk import folder_fault
from recollect.errors import StoreBusy, StoreFault

WAIT_S = 0.05  # seconds between two attempts to take a lock that is held for a long time
ATTEMPTS = 25  # 10 ms apart, before a lock counts as held: `is_held` takes it for a moment

WRITING = "write.lock"  # reads logs into the archive
FORGETTING = "forget.lock"  # forgets sessions; whoever distils stops for it
BACKING_UP = "backup.lock"  # copies the realm to a backup; whoever forgets sessions waits for it
CONFIGURING = "config.lock"  # writes the config
DISTILLING = "distil.lock"  # extracts observations and builds vectors
NEXT = "next.lock"  # waits to write: a watcher holds the write lock while it runs, and releases it for this process
WATCHING = "watch.lock"  # watches the logs: one process per realm


@contextmanager
def exclusive(realm: Path, work: str = WRITING) -> Iterator[None]:
    """Hold a lock of the realm, or raise `StoreBusy` with the process that holds it."""
    handle = open_lock_file(realm, work)
    try:
        try:
            _lock_or_fail(handle)
        except OSError as reason:
            raise StoreBusy(_busy_message(work).format(holder=holder_of(realm, work))) from reason
        with suppress(OSError):  # on a full disk the lock still holds, without our process id
            os.ftruncate(handle, 0)
            os.pwrite(handle, str(os.getpid()).encode(), 0)
        yield
    finally:
        os.close(handle)


@contextmanager
def wait_for(realm: Path, work: str, timeout_s: float) -> Iterator[None]:
    """Hold a lock once its holder has released it. Raises `StoreBusy` if that takes longer than `timeout_s`."""
    until = time.monotonic() + timeout_s
    with ExitStack() as stack:
        while True:
            try:
                stack.enter_context(exclusive(realm, work))
                break
            except StoreBusy:
                if time.monotonic() > until:
                    raise
                time.sleep(WAIT_S)
        yield


@contextmanager
def next_in_line(realm: Path, until: float) -> Iterator[None]:
    """Wait to be the next writer of the realm. Raises `StoreBusy` at `until`, a time of the monotonic clock."""
    handle = open_lock_file(realm, NEXT)
    try:
        while not _try_lock(handle):
            if time.monotonic() > until:
                raise StoreBusy(_busy_message(WRITING).format(holder=holder_of(realm)))
            time.sleep(WAIT_S)
        yield
    finally:
        os.close(handle)


def _try_lock(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def holder_of(realm: Path, work: str = WRITING) -> str:
    """The id of the process that holds this lock, or held it last."""
    try:
        return (realm / work).read_text("ascii", "replace").strip() or "unknown"
    except OSError:
        return "unknown"


@contextmanager
def wait_for_lock(realm: Path, work: str) -> Iterator[None]:
    """Wait for a lock of the realm and hold it, for a short task."""
    handle = open_lock_file(realm, work)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _busy_message(work: str) -> str:
    if work == WRITING:
        return "Recollect is already syncing (process {holder}). New log lines appear by themselves."
    return "Another Recollect (process {holder}) is already doing this."


def open_lock_file(realm: Path, work: str) -> int:
    """A descriptor of the lock file. The file is created if it does not exist."""
    try:
        realm.mkdir(parents=True, exist_ok=True, mode=0o700)
        return os.open(realm / work, os.O_CREAT | os.O_RDWR, 0o600)
    except OSError as reason:
        raise folder_fault("state folder", realm, reason) from reason


def _lock_or_fail(handle: int) -> None:
    """Take the lock, or raise OSError. Another process that calls `is_held` may hold it for a moment."""
    for _ in range(ATTEMPTS):
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except OSError:
            time.sleep(0.01)
    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


def is_held(realm: Path, work: str = WRITING) -> bool:
    """Whether a process holds this lock now. Raises `StoreFault` if the lock file cannot be opened."""
    try:
        handle = os.open(realm / work, os.O_RDONLY)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as reason:
        raise StoreFault(f"Cannot find out whether {realm} is in use: {reason.strerror}.") from reason
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(handle)
    return False
