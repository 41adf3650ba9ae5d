"""Defines a source: an agent, the formats of its sessions, and where they are.

There are three kinds of formats, by how files are written. `Lines` only grow; reading continues at the last offset. A
`Document` is rewritten completely, and a `Database` changes anywhere. Both are read session by session, and only the
difference from the archive is stored.
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
CONTAINERS = {".jsonl": "JSONL", ".zst": "JSONL", ".md": "Markdown", ".txt": "text"}  # by a file name's ending
UNNAMED = ""  # the session of entries without one


class ReaderState(Struct, kw_only=True):
    """The state from earlier lines that reading a file's next line needs.

    It is stored with the file's cursor, so that reading continues after a restart. It must stay small: it holds only what
    later lines may complete.
    """

    session: str
    copies_from: str | None = None  # the session whose history is copied at the file's start, if the file names it
    continues: bool = False  # the record before the file's first one is not in the file


class Stamp(Struct, frozen=True):
    """The properties of a file that show whether a log changed, without opening it."""

    size: int
    mtime_ns: int
    inode: int


def any_file(path: Path) -> bool:
    return True


def no_files(path: Path) -> list[Path]:
    return []


def unsplit(content: Any) -> Iterator[Any]:
    """The content as one piece. Only the caller keeps a reference to it, because it may be large."""
    pieces = [content]
    del content
    while pieces:
        yield pieces.pop()


@dataclass(frozen=True, kw_only=True)
class Format:
    """One way in which an agent stores its sessions."""

    recognises: Callable[[Head], bool]
    """Whether a file has this format, judged by its start and not by its place."""
    homes: Homes = no_homes
    """The folders with such logs, given the environment variables."""
    usual_place: str = ""
    """The place to display, if `homes` searches for existing folders."""
    endings: tuple[str, ...]
    """The endings of its logs' file names."""
    is_log: Callable[[Path], bool] = any_file
    """Whether a file with such an ending is a log."""
    recursive: bool = True
    """Whether to search the subfolders of those homes too."""
    in_projects: tuple[str, ...] = ()
    """Relative names of such logs, or of folders with them, in the agent's working folder."""

    @property
    def is_polled(self) -> bool:
        """Whether its logs are polled instead of watched: their folders hold many other files."""
        return not self.recursive or bool(self.in_projects)

    @property
    def container(self) -> str:
        """The name of its file type."""
        return "/".join(dict.fromkeys(CONTAINERS.get(Path(f"x{ending}").suffix, "JSON") for ending in self.endings))

    def places(self, env: Mapping[str, str]) -> list[str]:
        """The places of such logs, for display."""
        homes = [str(user_home(env) / self.usual_place)] if self.usual_place else [str(home) for home in self.homes(env)]
        return [*homes, *(f"<project>/{place}" for place in self.in_projects)]

    def find(self, home: Path) -> Iterator[Path | Problem]:
        """Every log in one of those folders."""
        for path in walk(home, self.endings, deep=self.recursive):
            if isinstance(path, Problem) or self.is_log(path):
                yield path

    def log_of(self, changed: Path) -> Path | None:
        """The log that a changed file in such a folder belongs to."""
        return changed if changed.name.endswith(self.endings) and self.is_log(changed) else None

    def parts(self, log: Path) -> Iterable[Path]:
        """The other files that a log consists of."""
        return ()

    def stamp(self, log: Path) -> Stamp:
        stat = log.stat()
        size, mtime_ns = stat.st_size, stat.st_mtime_ns
        for part in self.parts(log):
            try:
                part_stat = part.stat()
            except OSError:
                continue
            size, mtime_ns = size + part_stat.st_size, max(mtime_ns, part_stat.st_mtime_ns)
        return Stamp(size, mtime_ns, stat.st_ino)


@dataclass(frozen=True, kw_only=True)
class Lines(Format):
    """JSON Lines to which an agent only appends."""

    shape: Any
    """The shape of one line: a msgspec type."""
    state: type[ReaderState] = ReaderState
    begin: Callable[[Path, list[Any]], ReaderState]
    """The state to start a file with, from its path and its first values."""
    read: Callable[[Line, Any], Iterable[Entry]]
    """The entries of one line: at least one."""


class Snapshots(Format):
    """A format whose files may change anywhere: they are read session by session, in their current state."""

    def read_sessions(self, log: Path, is_known: IsKnown) -> Iterator[tuple[str, str, list[Entry]]]:
        """(session, mark, entries) of every session whose mark is not known. A mark changes with its session.

        Raises `Unreadable`.
        """
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class Document(Snapshots):
    """A file that is rewritten completely, or whose later lines change earlier ones."""

    load: Callable[[Path], Any]
    """Loads a file's content. Raises `Unreadable`."""
    read: Callable[[Path, Any], Iterable[Entry]]
    """All entries of all sessions in a document, from its path and content."""
    split: Callable[[Any], Iterable[Any]] = unsplit
    """Splits the content into pieces that are read one by one: for large documents with many sessions."""
    sidecars: Callable[[Path], Iterable[Path]] = no_files
    """Other files that are read together with the document."""
    owner: Callable[[Path], Path | None] | None = None
    """The document that one of those files belongs to."""

    def read_sessions(self, log: Path, is_known: IsKnown) -> Iterator[tuple[str, str, list[Entry]]]:
        check_memory(log.stat().st_size)
        for piece in self.split(self.load(log)):
            sessions = _group_by_session(self.read(log, piece))
            del piece  # free it: storing needs memory too
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
    """An SQLite database with many sessions, opened read-only."""

    sessions: Callable[[sqlite3.Connection], Iterable[tuple[Any, ...]]]
    """Rows (native session id, values that change with the session): few columns, from an index if possible."""
    read: Callable[[Path, sqlite3.Connection, str], Iterable[Entry]]
    """All entries of one session."""

    @property
    def container(self) -> str:
        return "SQLite"

    def read_sessions(self, log: Path, is_known: IsKnown) -> Iterator[tuple[str, str, list[Entry]]]:
        with open_database(log) as opened:
            for session, *values in list(self.sessions(opened.db)):
                mark = "/".join(map(str, values))
                if not is_known(str(session), mark):
                    entries = self._entries(log, opened.db, str(session))
                    opened.check()
                    yield str(session), mark, entries

    def _entries(self, log: Path, db: sqlite3.Connection, session: str) -> list[Entry]:
        """All entries of a session; one problem if it cannot be read."""
        try:
            return list(self.read(log, db, session))
        except sqlite3.Error as error:
            failure = unreadable(error)
        except Unreadable as reason:
            failure = reason
        except READ_ERRORS as reason:
            failure = Unreadable(describe_error(reason))
        if not failure.permanent:
            raise failure
        return [Problem(log, 0, failure.reason)]

    def parts(self, log: Path) -> Iterable[Path]:
        return (log.with_name(log.name + "-wal"),)

    def log_of(self, changed: Path) -> Path | None:
        for suffix in ("-wal", "-journal", "-shm"):
            if changed.name.endswith(suffix):
                return super().log_of(changed.with_name(changed.name.removesuffix(suffix)))
        return super().log_of(changed)


@dataclass(frozen=True)
class Source:
    """An agent whose logs can be read. Its line in `BUILT_IN` is all that registers it."""

    name: str
    title: str
    formats: tuple[Format, ...]
    real_sessions: int = 0
    """The number of real sessions that tested it. 0: unverified, written from the published format only."""

    def homes(self, env: Mapping[str, str]) -> list[Path]:
        return list(dict.fromkeys(home for format in self.formats for home in format.homes(env)))

    @property
    def containers(self) -> list[str]:
        return list(dict.fromkeys(format.container for format in self.formats))

    def places(self, env: Mapping[str, str]) -> list[str]:
        """The places of its logs, for display. Empty if they are read only when their path is given."""
        places = [place for format in self.formats for place in format.places(env)]
        return list(dict.fromkeys(places))

    def find(self, env: Mapping[str, str]) -> Iterator[tuple[Format, Path | Problem]]:
        """Every log of this agent in its homes, with its format."""
        for format in self.formats:
            for home in dict.fromkeys(format.homes(env)):
                for path in format.find(home):
                    yield format, path


def _group_by_session(entries: Iterable[Entry]) -> dict[str, list[Entry]]:
    """The entries of each session in order; entries without a session are under `UNNAMED`."""
    sessions: dict[str, list[Entry]] = {}
    for entry in entries:
        session = entry.session if isinstance(entry, Record | SessionMetadata) else UNNAMED
        sessions.setdefault(session, []).append(entry)
    return sessions


def _fingerprint(entries: list[Entry]) -> str:
    """A digest that changes if any of these entries changes."""
    digest = blake2b(digest_size=12)
    for entry in entries:
        digest.update(msgspec.json.encode(entry, enc_hook=str))  # unlike msgpack, JSON has numbers of any size
    return digest.hexdigest()
