"""Files of lines that are the truth of something: written on from a known place, read up to their last whole line."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from recollect.disk import folder_fault
from recollect.errors import StoreFault


def size_of(path: Path) -> int | None:
    """None where there is no such file."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return None
    except OSError as reason:
        raise StoreFault(f"The file {path} cannot be read: {reason.strerror}.") from reason


def objects(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """(where it ends, what it says) of every whole line that is an object."""
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


def write_on(path: Path, end: int, lines: Iterable[bytes], *, durable: bool = False) -> int:
    """Make these lines all that comes after `end`; how long the file is then."""
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


def write_anew(path: Path, lines: Iterable[bytes]) -> int:
    """Make these lines all of a file, in one step; how long it is then."""
    draft = path.with_name(f".{path.name}.new")  # one that was broken off is written over
    size = write_on(draft, 0, lines, durable=True)
    try:
        draft.replace(path)
    except OSError as reason:
        raise folder_fault("file", path, reason) from reason
    return size
