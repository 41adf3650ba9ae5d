"""Checks the limit on a process's memory (`ulimit -v`) before a large text is read.

The text index ends the whole process when an allocation fails, so one large line would stop the reading of all logs.
"""

import resource
from pathlib import Path

COPIES = 6  # copies of a text, from raw line to index entry: 4 exist at once, and address space is not returned
RESERVE = 192 << 20  # bytes for everything else: the text index fills 96 MB, SQLite and threads' stacks take the rest
LARGE = 16 << 20  # bytes: from this size on a text must fit into the remaining memory
STATM = Path("/proc/self/statm")


def check_memory(size: int) -> None:
    """Raise MemoryError if a text of `size` bytes would exceed the process's memory limit."""
    largest = largest_text() if size >= LARGE else None
    if largest is not None and size > largest:
        raise MemoryError(f"{size >> 20} MB of text do not fit into memory, which has room for {largest >> 20} MB")


def largest_text() -> int | None:
    """The size in bytes of the largest text that fits into the remaining memory; None without a limit."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY or not STATM.exists():
        return None
    used = int(STATM.read_bytes().split(maxsplit=1)[0]) * resource.getpagesize()
    return max(LARGE, (limit - used - RESERVE) // COPIES)
