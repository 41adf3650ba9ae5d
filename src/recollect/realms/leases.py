"""Whether the processes that use a realm are alive: by the kernel lock and the heartbeat of each lease."""

import time
from functools import cache
from pathlib import Path

from recollect.errors import StoreFault
from recollect.store.live import LeaseRow, Live, live_path
from recollect.store.lock import is_held

STALE_S = 30.0  # seconds without a heartbeat after which a process counts as dead
BOOT_ID_FILE = Path("/proc/sys/kernel/random/boot_id")


def is_alive(live: Live, holder: str) -> bool:
    """Whether the holder of this lease exists and its heartbeat is recent."""
    lease = live.lease(holder)
    return lease is not None and process_exists(live, lease) and monotonic_ms() - lease.beat < STALE_S * 1000


def process_exists(live: Live, lease: LeaseRow) -> bool:
    """Whether the holder of this lease exists: it holds its lock, and the machine was not restarted since."""
    return is_held(live.path.parent, lock_name(lease.holder)) and lease.boot == boot_id()


@cache
def boot_id() -> str:
    """An id of the current boot of the machine; empty if the system has none."""
    try:
        return BOOT_ID_FILE.read_text("ascii").strip()
    except FileNotFoundError:
        return ""
    except OSError as reason:
        raise StoreFault(f"The boot id {BOOT_ID_FILE} cannot be read: {reason.strerror}.") from reason


def monotonic_ms() -> int:
    return time.monotonic_ns() // 1_000_000


def lock_name(holder: str) -> str:
    return f"{holder}.lease"


def has_live_process(realm: Path) -> bool:
    """Whether any process has a lease in this realm."""
    locks = live_path(realm).parent.glob(lock_name("*"))
    return any(is_held(path.parent, path.name) for path in locks)
