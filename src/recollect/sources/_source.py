"""What a source is: one agent's logs, where they lie and how a line of them becomes records."""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

from msgspec import Struct

from recollect.model import Entry, Problem

EARLIEST, LATEST = -62_135_596_800_000, 253_402_300_799_999  # the calendar's first and last moment, in UTC
LARGEST = 1 << 53  # the largest whole number that every JSON reader agrees on
PLAIN_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:[0-5]\d\.\d{3}Z")


class Memory(Struct, kw_only=True):
    """What reading a file's next line must know of the lines before it.

    It is stored with the file's cursor, so that reading goes on after a restart as if it had never stopped. Keep it
    small: it holds what is still open, never what is done.
    """

    session: str
    copies_from: str | None = None  # the session whose history the file begins with, when it says so itself


class Misfit(Struct, frozen=True):
    """A JSON value that is not of the declared shape. It is kept as an event of unknown kind."""


class Line(Struct, frozen=True):
    """One decoded value of a log and where it stood."""

    path: Path
    offset: int
    number: int  # from 1
    value: Any
    raw: bytes


@dataclass(frozen=True)
class Source:
    """An agent that we can read. One line in `SOURCES` makes everything else know of it."""

    name: str
    title: str
    homes: Callable[[Mapping[str, str]], list[Path]]
    """The folders where this agent keeps its logs, by its own environment variables."""
    endings: tuple[str, ...]
    """How the names of its logs end."""
    is_log: Callable[[Path], bool]
    """Whether a file of such a name in such a folder is a log."""
    shape: Any
    """The declared shape of one line: a msgspec type."""
    memory: type[Memory]
    begin: Callable[[Path, list[Any]], Memory]
    """The memory to start a file with, from its path and its first values."""
    read: Callable[[Line, Any], Iterable[Entry]]
    """What one line says. Every line gives at least one entry."""
    recognises: Callable[[list[Any]], bool]
    """Whether the first values of some file are this agent's, wherever the file lies."""
    verified: str = "unverified"

    def find(self, home: Path) -> Iterator[Path | Problem]:
        """Every log below one of those folders."""
        for found in walk(home, self.endings):
            if isinstance(found, Problem) or self.is_log(found):
                yield found


def walk(root: Path, endings: tuple[str, ...]) -> Iterator[Path | Problem]:
    """Every file below a folder with one of these endings, in a stable order. Links are followed, loops are not."""
    folders, seen = [str(root)], set()
    while folders:
        folder = folders.pop()
        try:
            identity = Path(folder).stat()
            if (identity.st_dev, identity.st_ino) in seen:
                continue
            seen.add((identity.st_dev, identity.st_ino))
            with os.scandir(folder) as scan:
                entries = sorted(scan, key=lambda entry: entry.name, reverse=True)
        except FileNotFoundError:
            continue
        except OSError as reason:
            yield Problem(Path(folder), 0, f"folder cannot be read: {reason.strerror}")
            continue
        for entry in entries:
            if _is_folder(entry):
                folders.append(entry.path)
        yield from (Path(entry.path) for entry in reversed(entries) if entry.name.endswith(endings) and _is_file(entry))


def _is_folder(entry: "os.DirEntry[str]") -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link that points to itself
        return False


def _is_file(entry: "os.DirEntry[str]") -> bool:
    try:
        return entry.is_file()
    except OSError:
        return False


def bounded(number: int | None) -> int:
    """A count from a log; one that no archive could hold counts as nothing."""
    return number if number is not None and abs(number) < LARGEST else 0


@lru_cache(maxsize=64)
def _minute(stamp: str) -> int | None:
    """Most records are of the same few minutes, and nearly all are written the same way."""
    try:
        return round(datetime.fromisoformat(f"{stamp}:00+00:00").timestamp() * 1000)
    except ValueError:
        return None


def home_of(env: Mapping[str, str]) -> Path:
    return Path(env.get("HOME") or env.get("USERPROFILE") or "~").expanduser()


def milliseconds(stamp: object) -> int | None:
    """An ISO 8601 time as milliseconds since 1970; None for what is no time."""
    if not isinstance(stamp, str):
        return None
    if PLAIN_TIME.fullmatch(stamp) and (minute := _minute(stamp[:16])) is not None:
        return minute + int(stamp[17:19]) * 1000 + int(stamp[20:23])
    try:
        moment = datetime.fromisoformat(stamp)
    except ValueError:
        return None
    if moment.tzinfo is None:
        return None
    at = round(moment.timestamp() * 1000)
    return at if EARLIEST <= at <= LATEST else None
