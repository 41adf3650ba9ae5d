"""What we ask of the C library's allocator. Another C library than glibc does not know it, and nothing happens."""

import ctypes
from contextlib import suppress

M_ARENA_MAX = -8  # glibc's number for: how many arenas there may be


def use_one_arena() -> None:
    """From now on no thread reserves an arena of its own, which is 64 MB of address space each."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).mallopt(M_ARENA_MAX, 1)


def return_free_memory() -> None:
    """Give back what was allocated for a while: opening the model leaves 18 MB behind."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
