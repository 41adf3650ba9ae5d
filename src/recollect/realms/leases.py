"""Whether the processes at work in a realm are alive: by the kernel lock and the heartbeat of each lease."""

import time
from functools import cache
from pathlib import Path

from recollect.errors import StoreFault
from recollect.store.live import LeaseRow, Live, live_of
from recollect.store.lock import is_held

STALE_S = 30.0  # without a beat, a holder counts as gone
BOOT_ID_FILE = Path("/proc/sys/kernel/random/boot_id")


def is_alive(live: Live, holder: str) -> bool:
    """Whether the process that this lease was given to is still there and at work on its turns."""
    lease = live.lease(holder)
    return lease is not None and process_exists(live, lease) and monotonic_ms() - lease.beat < STALE_S * 1000


def process_exists(live: Live, lease: LeaseRow) -> bool:
    """Whether the process that this lease was given to still exists."""
    return is_held(live.path.parent, lock_name(lease.holder)) and lease.boot == boot_id()


@cache
def boot_id() -> str:
    """Which start of the machine this is; empty where the system does not say."""
    try:
        return BOOT_ID_FILE.read_text("ascii").strip()
    except FileNotFoundError:
        return ""
    except OSError as reason:
        raise StoreFault(f"Which start of the machine this is cannot be told: {reason.strerror}.") from reason


def monotonic_ms() -> int:
    return time.monotonic_ns() // 1_000_000


def lock_name(holder: str) -> str:
    return f"{holder}.lease"


def has_live_process(realm: Path) -> bool:
    """Whether some process has a lease in this realm."""
    locks = live_of(realm).parent.glob(lock_name("*"))
    return any(is_held(path.parent, path.name) for path in locks)
