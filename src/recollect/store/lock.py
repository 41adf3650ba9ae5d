"""One writer per realm, whichever process it lives in. The lock is the kernel's, so it dies with its holder."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from recollect.disk import folder_fault
from recollect.errors import StoreBusy, StoreFault

WAIT_S = 0.05  # seconds between two attempts to take a lock that somebody holds for long
ASKERS = 25  # attempts, 10 ms apart, before a lock counts as held by a writer


WRITING = "write.lock"  # whoever reads logs into the archive
CONFIGURING = "config.lock"  # whoever writes the config
DISTILLING = "distil.lock"  # whoever makes observations and vectors of what is there
NEXT = "next.lock"  # whoever waits to write: a watcher, which writes for as long as it runs, lets go in between
WATCHING = "watch.lock"  # whoever reads new log lines as they are written: one watcher a realm


@contextmanager
def exclusive(realm: Path, work: str = WRITING) -> Iterator[None]:
    """Hold the realm for one kind of work, or say who does."""
    handle = opened(realm, work)
    try:
        try:
            _take(handle)
        except OSError as reason:
            raise StoreBusy(_at_it(work).format(holder=holder_of(realm, work))) from reason
        with suppress(OSError):  # on a full disk nobody learns who we are, but that we are here
            os.ftruncate(handle, 0)
            os.pwrite(handle, str(os.getpid()).encode(), 0)
        yield
    finally:
        os.close(handle)


@contextmanager
def next_in_line(realm: Path, until: float) -> Iterator[None]:
    """Be the next to write the realm, or raise `Busy` where others wait for longer than that (by the steady clock)."""
    handle = opened(realm, NEXT)
    try:
        while not _is_taken(handle):
            if time.monotonic() > until:
                raise StoreBusy(_at_it(WRITING).format(holder=holder_of(realm)))
            time.sleep(WAIT_S)
        yield
    finally:
        os.close(handle)


def _is_taken(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def holder_of(realm: Path, work: str = WRITING) -> str:
    """The process that holds, or held last, the realm for this work."""
    try:
        return (realm / work).read_text("ascii", "replace").strip() or "unknown"
    except OSError:
        return "unknown"


@contextmanager
def in_turn(realm: Path, work: str) -> Iterator[None]:
    """Hold the realm for work of a moment, after whoever is at it."""
    handle = opened(realm, work)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _at_it(work: str) -> str:
    if work == WRITING:
        return "Recollect is already syncing (process {holder}). New log lines appear by themselves."
    return "Another Recollect (process {holder}) is at this work already."


def opened(realm: Path, work: str) -> int:
    """A descriptor of the lock file, which is made where there is none."""
    try:
        realm.mkdir(parents=True, exist_ok=True, mode=0o700)
        return os.open(realm / work, os.O_CREAT | os.O_RDWR, 0o600)
    except OSError as reason:
        raise folder_fault("state folder", realm, reason) from reason


def _take(handle: int) -> None:
    """Take the lock, or fail. Somebody who only asks whether it is held (`is_held`) has it for a moment."""
    for _ in range(ASKERS):
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except OSError:
            time.sleep(0.01)
    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


def is_held(realm: Path, work: str = WRITING) -> bool:
    """Whether some process is at this work in the realm right now. Who cannot find out must not take it for free."""
    try:
        handle = os.open(realm / work, os.O_RDONLY)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as reason:
        raise StoreFault(f"Whether somebody is at work in {realm} cannot be told: {reason.strerror}.") from reason
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(handle)
    return False
