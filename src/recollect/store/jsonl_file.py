"""Append-only JSONL files: append at a known offset, read up to the last complete line."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from recollect.disk import folder_fault
from recollect.errors import StoreFault


def file_size(path: Path) -> int | None:
    """The size of a file, or None if it does not exist."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return None
    except OSError as reason:
        raise StoreFault(f"The file {path} cannot be read: {reason.strerror}.") from reason


def read_objects(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """(end offset, value) of every complete line that is a JSON object."""
    end = 0
    try:
        with path.open("rb") as file:
            for raw in file:
                end += len(raw)
                if not raw.endswith(b"\n"):
                    return
                try:
                    value = msgspec.json.decode(raw)
                except msgspec.DecodeError:
                    continue
                if isinstance(value, dict):
                    yield end, value
    except OSError as reason:
        raise StoreFault(f"The file {path} cannot be read: {reason.strerror}.") from reason


def append_lines(path: Path, end: int, lines: Iterable[bytes], *, durable: bool = False) -> int:
    """Cut the file at offset `end` and append these lines. Returns the new size."""
    try:
        with os.fdopen(os.open(path, os.O_CREAT | os.O_RDWR, 0o600), "r+b") as file:
            file.truncate(end)
            file.seek(end)
            file.writelines(line + b"\n" for line in lines)
            file.flush()
            if durable:
                os.fsync(file.fileno())
            return file.tell()
    except OSError as reason:
        raise folder_fault("file", path, reason) from reason


def replace_lines(path: Path, lines: Iterable[bytes]) -> int:
    """Replace the content of a file by these lines, atomically. Returns the new size."""
    draft = path.with_name(f".{path.name}.new")  # an unfinished one is overwritten
    size = append_lines(draft, 0, lines, durable=True)
    try:
        draft.replace(path)
    except OSError as reason:
        raise folder_fault("file", path, reason) from reason
    return size
