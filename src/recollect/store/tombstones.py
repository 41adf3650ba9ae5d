"""Tombstones: hashes of the ids of forgotten sessions and of their events, so that no log brings these back.

They are lines of a file, because the archive can be built again from the logs. The archive has a copy, for fast lookups.
"""

from collections.abc import Iterable
from pathlib import Path

from recollect.disk import folder_fault
from recollect.model import derived_id
from recollect.store.jsonl_file import append_lines, file_size

DIGITS = 16  # hexadecimal digits of a hash of 64 bits: among ten million ids, two with one hash are still improbable
LINE = DIGITS + 1


def tombstones_path(realm: Path) -> Path:
    return realm / "forgotten"


def tombstone_of(identity: bytes) -> int:
    """The hash of the id of a session or of an event. The id of a live session cannot be found out from it."""
    return int.from_bytes(derived_id("forgotten", identity.hex())[: DIGITS // 2], signed=True)


def tombstones_size(realm: Path) -> int:
    """The size of the file's complete lines."""
    return (file_size(tombstones_path(realm)) or 0) // LINE * LINE


def append_tombstones(realm: Path, hashes: Iterable[int]) -> int:
    """Add tombstones to the file, so that they survive a power failure. Returns its new size."""
    lines = (one.to_bytes(DIGITS // 2, signed=True).hex().encode() for one in hashes)
    return append_lines(tombstones_path(realm), tombstones_size(realm), lines, durable=True)


def read_tombstones(realm: Path, start: int) -> list[int]:
    """The tombstones after this position of the file."""
    path = tombstones_path(realm)
    try:
        with path.open("rb") as file:
            file.seek(start)
            content = file.read(tombstones_size(realm) - start)
    except FileNotFoundError:
        return []
    except OSError as reason:
        raise folder_fault("file", path, reason) from reason
    lines = content.decode("ascii", "replace").split("\n")
    return [one for line in lines if (one := _number(line)) is not None]


def _number(line: str) -> int | None:
    """The hash on a line; None if the line was damaged."""
    try:
        return int.from_bytes(bytes.fromhex(line), signed=True) if len(line) == DIGITS else None
    except ValueError:
        return None
