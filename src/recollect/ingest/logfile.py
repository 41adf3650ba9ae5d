"""A log on disk and how far it has been read: what has changed since, and is it still the file we know?"""

import os
import zlib
from pathlib import Path

import msgspec
from msgspec import Struct

from recollect.assemble import State
from recollect.sources._jsonl import open_log
from recollect.store import Cursor

EDGE = 4_096  # bytes at either end of what was read that must be unchanged for the file to count as grown
CHUNK = 1 << 20


class Progress(Struct, kw_only=True):
    """What a cursor carries besides numbers: the reader's memory, the folds under way, and the file's edges."""

    memory: msgspec.Raw
    sessions: dict[str, State] = {}
    edges: int = 0
    inside_line: bool = False  # the last line read had no newline yet


def changed(known: tuple[int, int, int] | None, stat: os.stat_result) -> bool:
    """Whether a file can hold anything new. The one question that is asked of every file in every sync."""
    return known != (stat.st_size, stat.st_mtime_ns, stat.st_ino)


def is_same_log(path: Path, stat: os.stat_result, cursor: Cursor, progress: Progress) -> bool:
    """Whether a changed file only grew. Grown in place, its edges must do; anything else is compared byte for byte."""
    compressed = path.suffix == ".zst"
    if not compressed and stat.st_size < cursor.offset:
        return False
    if not compressed and stat.st_ino == cursor.inode and stat.st_size > cursor.size:
        return edges(path, cursor.offset) == progress.edges
    return prefix_crc(path, cursor.offset) == cursor.crc


def edges(path: Path, offset: int) -> int:
    """A checksum of the first and the last bytes of what was read."""
    with open_log(path) as stream:
        crc = zlib.crc32(stream.read(min(EDGE, offset)))
    if path.suffix != ".zst":
        with open_log(path, max(0, offset - EDGE)) as stream:
            crc = zlib.crc32(stream.read(min(EDGE, offset)), crc)
    return crc


def prefix_crc(path: Path, size: int) -> int | None:
    """The checksum of a log's first `size` bytes; None where it has fewer."""
    crc = 0
    with open_log(path) as stream:
        while size:
            chunk = stream.read(min(CHUNK, size))
            if not chunk:
                return None
            crc = zlib.crc32(chunk, crc)
            size -= len(chunk)
    return crc
