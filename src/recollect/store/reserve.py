"""A file that reserves disk space. A sync creates it, and deletes it when the disk is full.

To read a database, SQLite creates a small file beside it. Without the reserve, a full disk would make the data unreadable.
"""

from contextlib import suppress
from pathlib import Path

RESERVE = "reserve"
SIZE = 128 << 10  # bytes: SQLite needs 32 KB each for the archive, the memory and the live sessions


def create_reserve(realm: Path) -> None:
    """Create the reserve file if it does not exist and the disk has room for it."""
    path = realm / RESERVE
    try:
        with path.open("xb") as file:
            file.write(bytes(SIZE))
    except FileExistsError:
        return
    except OSError:
        release_reserve(realm)


def release_reserve(realm: Path) -> None:
    """Delete the reserve file."""
    with suppress(OSError):
        (realm / RESERVE).unlink()
