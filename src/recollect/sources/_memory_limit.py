"""The limit on a process's memory (`ulimit -v`), checked before a large text is read.

The engine behind the text index ends the whole process when an allocation fails, so one large line would cost all logs.
"""

import resource
from pathlib import Path

COPIES = 6  # of a text, from its raw line to its index entry: 4.7 were measured for a tool call, 3.8 for an answer
RESERVE = 192 << 20  # bytes for everything else: the text index fills 96 MB, SQLite and threads' stacks take the rest
STATM = Path("/proc/self/statm")


def check_memory(size: int) -> None:
    """Raise MemoryError if a text of so many bytes would take more memory than this process may have."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY or not STATM.exists():
        return
    used = int(STATM.read_bytes().split(maxsplit=1)[0]) * resource.getpagesize()
    if used + COPIES * size + RESERVE > limit:
        raise MemoryError(f"{size >> 20} MB of text, and {max(0, limit - used) >> 20} MB of memory left")
