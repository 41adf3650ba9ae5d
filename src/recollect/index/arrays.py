"""numpy, without the threads that its linear algebra library would start.

They reserve 90 MB of address space for each processor, in every process that searches. Nothing here multiplies matrices
large enough to need them. The variable is not left behind: programs that we start are not ours to limit.
"""

import os

__all__ = ["np", "npt"]

THREADS = "OPENBLAS_NUM_THREADS"

_is_given = THREADS in os.environ
os.environ.setdefault(THREADS, "1")
try:
    import numpy as np
    import numpy.typing as npt
finally:
    if not _is_given:
        del os.environ[THREADS]
