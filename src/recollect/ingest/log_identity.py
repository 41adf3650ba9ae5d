"""Tells whether a log is still the file that its cursor describes: unchanged, grown, rotated or replaced."""

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

EDGE = 4_096  # bytes at both ends of the part that was read: if they are unchanged, the file only grew
CHUNK = 1 << 20  # bytes that are read at once


class CursorState(Struct, kw_only=True, rename={"source_state": "memory", "previous": "before", "was_rotated": "moved_on"}):
    """The part of a cursor that is not numbers. The stored field names are those of older versions."""

    source_state: msgspec.Raw  # what the source needs to continue
    sessions: dict[str, State] = {}  # the folds in progress, by native id
    edges: int = 0  # a checksum of the first and last bytes that were read
    inside_line: bool = False  # the last line that was read had no newline yet
    previous: dict[str, State] = {}  # the folds of the last complete read, until this read has reached their end
    was_rotated: bool = False  # emptied or rotated: the present content comes after the earlier content


def has_changed(known: tuple[int, int, int] | None, stamp: Stamp) -> bool:
    """Whether a file can hold new entries. Every sync checks this for every file."""
    return known != (stamp.size, stamp.mtime_ns, stamp.inode)


def is_same_log(path: Path, stamp: Stamp, cursor: Cursor, state: CursorState) -> bool:
    """Whether a changed file only grew. If it grew in place, only its edges are compared; else all bytes that were read."""
    compressed = path.suffix == ".zst"
    if not compressed and stamp.size < cursor.offset:
        return False
    if not compressed and stamp.inode == cursor.inode and stamp.size > cursor.size:
        with path.open("rb") as stream:
            return edges(stream, cursor.offset) == state.edges
    return prefix_crc(path, cursor.offset) == cursor.crc


def edges(stream: BinaryIO, offset: int) -> int:
    """A checksum of the first and the last bytes that were read. The position of the stream does not change."""
    head = os.pread(stream.fileno(), min(EDGE, offset), 0)
    tail = os.pread(stream.fileno(), min(EDGE, offset), max(0, offset - EDGE))
    return zlib.crc32(tail, zlib.crc32(head))


def is_rotated(path: Path, cursor: Cursor, state: CursorState) -> bool:
    """Whether the part of a log that was read is now in a file beside it, such as `x.jsonl.1`."""
    if path.suffix == ".zst" or not cursor.offset:
        return False
    with os.scandir(path.parent) as entries:
        others = [entry for entry in entries if entry.name != path.name]
    return any(
        _starts_with(entry, cursor.offset, state.edges)
        for entry in others
        if entry.name.startswith(path.name) or entry.inode() == cursor.inode
    )


def _starts_with(entry: "os.DirEntry[str]", size: int, checksum: int) -> bool:
    try:
        if not entry.is_file() or entry.stat().st_size < size:
            return False
        with Path(entry.path).open("rb") as stream:
            return edges(stream, size) == checksum
    except OSError:
        return False


class Relation(StrEnum):
    """How a log relates to another log of the same session."""

    LONGER = "longer"  # it starts with the part of the other that was read
    SAME = "same"  # it has nothing more than the other
    UNRELATED = "unrelated"


def compare(path: Path, other: Path, cursor: Cursor) -> Relation:
    """Compare a log with the part of another log that was read."""
    if prefix_crc(path, cursor.offset) == cursor.crc:
        return Relation.LONGER if prefix_crc(path, cursor.offset + 1) is not None else Relation.SAME
    if not other.exists():
        return Relation.LONGER  # the other log was moved here and rewritten
    size = _size(path)
    is_prefix = size <= cursor.offset and prefix_crc(other, size) == prefix_crc(path, size)
    return Relation.SAME if is_prefix else Relation.UNRELATED


def _size(path: Path) -> int:
    """The size of the log, uncompressed."""
    if path.suffix != ".zst":
        return path.stat().st_size
    with open_log(path) as stream:
        return sum(len(chunk) for chunk in iter(lambda: stream.read(CHUNK), b""))


def prefix_crc(path: Path, size: int) -> int | None:
    """The checksum of a log's first `size` bytes; None if it has fewer."""
    crc = 0
    with open_log(path) as stream:
        while size:
            chunk = stream.read(min(CHUNK, size))
            if not chunk:
                return None
            crc = zlib.crc32(chunk, crc)
            size -= len(chunk)
    return crc
