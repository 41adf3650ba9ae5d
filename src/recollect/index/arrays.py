"""Imports numpy without the threads of its linear algebra library.

The threads reserve 90 MB of address space for each core, in every process that searches. No matrix here is large enough
to need them. The environment variable is removed again, so that child processes do not inherit the limit.
"""

import os

__all__ = ["np", "npt"]

THREADS = "OPENBLAS_NUM_THREADS"

_is_set = THREADS in os.environ
os.environ.setdefault(THREADS, "1")
try:
    import numpy as np
    import numpy.typing as npt
finally:
    if not _is_set:
        del os.environ[THREADS]
