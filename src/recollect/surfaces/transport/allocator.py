"""Settings of glibc's allocator. They do nothing with another C library."""

import ctypes
from contextlib import suppress

M_ARENA_MAX = -8  # glibc's parameter for the maximum number of arenas


def use_one_arena() -> None:
    """Make all threads share one arena. Otherwise each thread reserves 64 MB of address space."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).mallopt(M_ARENA_MAX, 1)


def return_free_memory() -> None:
    """Return freed memory to the system: opening the model leaves 18 MB behind."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
