"""numpy without the threads that its linear algebra library starts.

Those threads reserve 90 MB of address space for each core, in every process that searches. No matrix here is large enough
to need them. The environment variable is removed again, so that programs started by us do not inherit the limit.
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
