"""A log on disk and how far it has been read: what has changed since, and is it still the file we know?"""

import os
import zlib
from enum import StrEnum
from pathlib import Path
from typing import BinaryIO

import msgspec
from msgspec import Struct

from recollect.assemble import State
from recollect.sources import Stamp
from recollect.sources.formats.jsonl import open_log
from recollect.store import Cursor

EDGE = 4_096  # bytes at either end of what was read that must be unchanged for the file to count as grown
CHUNK = 1 << 20


class Progress(Struct, kw_only=True):
    """What a cursor carries besides numbers: the reader's memory, the folds under way, and the file's edges."""

    memory: msgspec.Raw
    sessions: dict[str, State] = {}
    edges: int = 0
    inside_line: bool = False  # the last line read had no newline yet
    before: dict[str, State] = {}  # what the log told when it was last read whole, while it does not tell it again
    moved_on: bool = False  # the log was emptied or rotated: what it tells now comes after what it told before


def changed(known: tuple[int, int, int] | None, stamp: Stamp) -> bool:
    """Whether a file can hold anything new. The one question that is asked of every file in every sync."""
    return known != (stamp.size, stamp.mtime_ns, stamp.inode)


def is_same_log(path: Path, stamp: Stamp, cursor: Cursor, progress: Progress) -> bool:
    """Whether a changed file only grew. Grown in place, its edges must do; anything else is compared byte for byte."""
    compressed = path.suffix == ".zst"
    if not compressed and stamp.size < cursor.offset:
        return False
    if not compressed and stamp.inode == cursor.inode and stamp.size > cursor.size:
        with path.open("rb") as stream:
            return edges(stream, cursor.offset) == progress.edges
    return prefix_crc(path, cursor.offset) == cursor.crc


def edges(stream: BinaryIO, offset: int) -> int:
    """A checksum of the first and the last bytes of what was read. The stream stays where it is."""
    head = os.pread(stream.fileno(), min(EDGE, offset), 0)
    tail = os.pread(stream.fileno(), min(EDGE, offset), max(0, offset - EDGE))
    return zlib.crc32(tail, zlib.crc32(head))


def is_rotated(path: Path, cursor: Cursor, progress: Progress) -> bool:
    """Whether what was read of a log lies beside it under another name, as `x.jsonl.1` or the like."""
    if path.suffix == ".zst" or not cursor.offset:
        return False
    with os.scandir(path.parent) as entries:
        others = [entry for entry in entries if entry.name != path.name]
    return any(
        _begins_as(entry, cursor.offset, progress.edges)
        for entry in others
        if entry.name.startswith(path.name) or entry.inode() == cursor.inode
    )


def _begins_as(entry: "os.DirEntry[str]", size: int, known: int) -> bool:
    try:
        if not entry.is_file() or entry.stat().st_size < size:
            return False
        with Path(entry.path).open("rb") as stream:
            return edges(stream, size) == known
    except OSError:
        return False


class Relation(StrEnum):
    """How a log stands to another one of the same session."""

    LONGER = "longer"  # it begins with all that was read of the other
    SAME = "same"  # it has nothing that the other has not
    UNRELATED = "unrelated"


def compare(path: Path, other: Path, read: Cursor) -> Relation:
    """Compare a log with what was read of another one."""
    if prefix_crc(path, read.offset) == read.crc:
        return Relation.LONGER if prefix_crc(path, read.offset + 1) is not None else Relation.SAME
    if not other.exists():
        return Relation.LONGER  # rewritten where it went
    size = _size(path)
    return Relation.SAME if size <= read.offset and prefix_crc(other, size) == prefix_crc(path, size) else Relation.UNRELATED


def _size(path: Path) -> int:
    """The size of what the agent wrote."""
    if path.suffix != ".zst":
        return path.stat().st_size
    with open_log(path) as stream:
        return sum(len(chunk) for chunk in iter(lambda: stream.read(CHUNK), b""))


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
