"""Disk space that a sync sets aside, and gives back when the disk is full.

To read a database, SQLite makes a small file beside it. On a disk without a free block nothing that is stored could be read.
"""

from contextlib import suppress
from pathlib import Path

RESERVE = "reserve"
SIZE = 128 << 10  # bytes: SQLite wants 32 KB each for the archive, the memory and the live sessions


def set_aside(realm: Path) -> None:
    """Make the reserve where there is none. A disk that is too full for it has to do without."""
    path = realm / RESERVE
    try:
        with path.open("xb") as file:
            file.write(bytes(SIZE))
    except FileExistsError:
        return
    except OSError:
        give_back(realm)


def give_back(realm: Path) -> None:
    with suppress(OSError):
        (realm / RESERVE).unlink()
