"""What a source is: an agent, the formats in which it keeps its sessions, and where they lie.

A format is one of three, by how its files are written. `Lines` only ever grow, and are read on from where reading
stopped. A `Document` is written anew as a whole, and a `Database` is changed anywhere: both are read session by session,
compared with what is known, and only the difference is kept.
"""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from recollect.model import Entry, Problem, Record, SessionMetadata
from recollect.sources.formats.container import READ_ERRORS, Line, Unreadable, describe_error
from recollect.sources.formats.head import Head
from recollect.sources.formats.homes import Homes, no_homes, user_home
from recollect.sources.formats.memory_limit import check_memory
from recollect.sources.formats.sqlite import open_database, unreadable
from recollect.sources.formats.walk import walk

IsKnown = Callable[[str, str], bool]
CONTAINERS = {".jsonl": "JSONL", ".zst": "JSONL", ".md": "Markdown", ".txt": "text"}  # by the ending of a name
UNNAMED = ""  # the session of entries that belong to none


class ReaderState(Struct, kw_only=True):
    """What reading a file's next line must know of the lines before it.

    It is stored with the file's cursor, so that reading goes on after a restart as if it had never stopped. Keep it
    small: it holds what is still open, never what is done.
    """

    session: str
    copies_from: str | None = None  # the session whose history the file begins with, when it says so itself
    continues: bool = False  # the file's first record says that it follows one that is not in the file


class Stamp(Struct, frozen=True):
    """What tells a changed log from an unchanged one without opening it."""

    size: int
    mtime_ns: int
    inode: int


def any_file(path: Path) -> bool:
    return True


def no_files(path: Path) -> list[Path]:
    return []


def unsplit(content: Any) -> Iterator[Any]:
    """The content as its only piece, which nobody holds but the one who asked for it: it may be large."""
    pieces = [content]
    del content
    while pieces:
        yield pieces.pop()


@dataclass(frozen=True, kw_only=True)
class Format:
    """One way in which an agent keeps its sessions."""

    recognises: Callable[[Head], bool]
    """Whether a file is of this format, by what it begins with and wherever it lies."""
    homes: Homes = no_homes
    """The folders where such logs are, by the agent's own environment variables."""
    usual_place: str = ""
    """Where those folders are as a rule, if which there are is found out by looking."""
    endings: tuple[str, ...]
    """How the names of its logs end."""
    is_log: Callable[[Path], bool] = any_file
    """Whether a file of such a name in such a folder is a log."""
    recursive: bool = True
    """Whether logs lie in folders below those homes as well."""
    in_projects: tuple[str, ...] = ()
    """Where such logs lie in the folder that the agent worked in: folders or files, by their relative names."""

    @property
    def is_polled(self) -> bool:
        """Whether its logs are looked at now and then, rather than their folders watched: those hold much else."""
        return not self.recursive or bool(self.in_projects)

    @property
    def container(self) -> str:
        """What its files are, as one says it."""
        return "/".join(dict.fromkeys(CONTAINERS.get(Path(f"x{ending}").suffix, "JSON") for ending in self.endings))

    def places(self, env: Mapping[str, str]) -> list[str]:
        """Where such logs lie, for a person to read."""
        homes = [str(user_home(env) / self.usual_place)] if self.usual_place else [str(home) for home in self.homes(env)]
        return [*homes, *(f"<project>/{place}" for place in self.in_projects)]

    def find(self, home: Path) -> Iterator[Path | Problem]:
        """Every log below one of those folders."""
        for found in walk(home, self.endings, deep=self.recursive):
            if isinstance(found, Problem) or self.is_log(found):
                yield found

    def log_of(self, changed: Path) -> Path | None:
        """The log that a file in such a folder belongs to."""
        return changed if changed.name.endswith(self.endings) and self.is_log(changed) else None

    def parts(self, log: Path) -> Iterable[Path]:
        """The other files that a log consists of."""
        return ()

    def stamp(self, log: Path) -> Stamp:
        stat = log.stat()
        size, mtime_ns = stat.st_size, stat.st_mtime_ns
        for part in self.parts(log):
            try:
                more = part.stat()
            except OSError:
                continue
            size, mtime_ns = size + more.st_size, max(mtime_ns, more.st_mtime_ns)
        return Stamp(size, mtime_ns, stat.st_ino)


@dataclass(frozen=True, kw_only=True)
class Lines(Format):
    """JSON Lines that are only ever appended to."""

    shape: Any
    """The declared shape of one line: a msgspec type."""
    state: type[ReaderState] = ReaderState
    begin: Callable[[Path, list[Any]], ReaderState]
    """The state to start a file with, from its path and its first values."""
    read: Callable[[Line, Any], Iterable[Entry]]
    """What one line says. Every line gives at least one entry."""


class Snapshots(Format):
    """What is not only appended to: read session by session, as it is now."""

    def read_sessions(self, log: Path, is_known: IsKnown) -> Iterator[tuple[str, str, list[Entry]]]:
        """(session, mark, entries) of every session but those whose mark is known. Raises `Unreadable`."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class Document(Snapshots):
    """A file that is written anew as a whole; or one whose later lines change what the earlier ones said."""

    load: Callable[[Path], Any]
    """The content of a file, by one of the containers. Raises `Unreadable`."""
    read: Callable[[Path, Any], Iterable[Entry]]
    """What the document says, from its path and content: every entry of every session in it."""
    split: Callable[[Any], Iterable[Any]] = unsplit
    """The content in pieces, read one after the other: for documents of many sessions, too large to be read at once."""
    sidecars: Callable[[Path], Iterable[Path]] = no_files
    """Further files that the document is read together with."""
    owner: Callable[[Path], Path | None] | None = None
    """Which document one of those further files belongs to."""

    def read_sessions(self, log: Path, is_known: IsKnown) -> Iterator[tuple[str, str, list[Entry]]]:
        check_memory(log.stat().st_size)
        for piece in self.split(self.load(log)):
            sessions = _group_by_session(self.read(log, piece))
            del piece  # storing needs memory of its own
            for session, entries in sessions.items():
                mark = _fingerprint(entries)
                if not is_known(session, mark):
                    yield session, mark, entries

    def parts(self, log: Path) -> Iterable[Path]:
        return self.sidecars(log)

    def log_of(self, changed: Path) -> Path | None:
        return super().log_of(changed) or (self.owner(changed) if self.owner else None)


@dataclass(frozen=True, kw_only=True)
class Database(Snapshots):
    """An SQLite database with many sessions, read-only."""

    sessions: Callable[[sqlite3.Connection], Iterable[tuple[Any, ...]]]
    """Rows (native id of a session, whatever changes whenever the session does): few columns, from an index if possible."""
    read: Callable[[Path, sqlite3.Connection, str], Iterable[Entry]]
    """What the database says of one session: every entry of it."""

    @property
    def container(self) -> str:
        return "SQLite"

    def read_sessions(self, log: Path, is_known: IsKnown) -> Iterator[tuple[str, str, list[Entry]]]:
        with open_database(log) as opened:
            for session, *dates in list(self.sessions(opened.db)):
                mark = "/".join(map(str, dates))
                if not is_known(str(session), mark):
                    entries = self._entries(log, opened.db, str(session))
                    opened.check()
                    yield str(session), mark, entries

    def _entries(self, log: Path, db: sqlite3.Connection, session: str) -> list[Entry]:
        """What the database says of a session; one that is damaged, or not understood, costs only itself."""
        try:
            return list(self.read(log, db, session))
        except sqlite3.Error as error:
            refusal = unreadable(error)
        except Unreadable as reason:
            refusal = reason
        except READ_ERRORS as reason:
            refusal = Unreadable(describe_error(reason))
        if not refusal.permanent:
            raise refusal
        return [Problem(log, 0, refusal.reason)]

    def parts(self, log: Path) -> Iterable[Path]:
        return (log.with_name(log.name + "-wal"),)

    def log_of(self, changed: Path) -> Path | None:
        for suffix in ("-wal", "-journal", "-shm"):
            if changed.name.endswith(suffix):
                return super().log_of(changed.with_name(changed.name.removesuffix(suffix)))
        return super().log_of(changed)


@dataclass(frozen=True)
class Source:
    """An agent that we can read. One line in `BUILT_IN` makes everything else know of it."""

    name: str
    title: str
    formats: tuple[Format, ...]
    real_sessions: int = 0
    """How many real sessions it was tried on. 0: written by the published format alone, unverified."""

    def homes(self, env: Mapping[str, str]) -> list[Path]:
        return list(dict.fromkeys(home for format in self.formats for home in format.homes(env)))

    @property
    def containers(self) -> list[str]:
        return list(dict.fromkeys(format.container for format in self.formats))

    def places(self, env: Mapping[str, str]) -> list[str]:
        """Where its logs lie, for a person to read. Nothing for what is only read when it is named."""
        places = [place for format in self.formats for place in format.places(env)]
        return list(dict.fromkeys(places))

    def find(self, env: Mapping[str, str]) -> Iterator[tuple[Format, Path | Problem]]:
        """Every log of this agent in its homes, with its format."""
        for format in self.formats:
            for home in dict.fromkeys(format.homes(env)):
                for found in format.find(home):
                    yield format, found


def _group_by_session(entries: Iterable[Entry]) -> dict[str, list[Entry]]:
    """The entries of each session, in their order; what belongs to none under the name of none."""
    sessions: dict[str, list[Entry]] = {}
    for entry in entries:
        session = entry.session if isinstance(entry, Record | SessionMetadata) else UNNAMED
        sessions.setdefault(session, []).append(entry)
    return sessions


def _fingerprint(entries: list[Entry]) -> str:
    """What changes whenever one of these entries does."""
    digest = blake2b(digest_size=12)
    for entry in entries:
        digest.update(msgspec.json.encode(entry, enc_hook=str))  # unlike others, JSON has numbers of any size
    return digest.hexdigest()
