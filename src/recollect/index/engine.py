"""What every index of the engine (tantivy) has in common: a folder of its own, made from one archive, one writer at a time.

An index is never repaired. Whatever cannot be opened, or was made from another archive, is thrown away and made anew.
"""

import json
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import tantivy
from msgspec import Struct
from tantivy import FieldType, Query

from recollect.errors import StoreFault
from recollect.index.faults import is_full, unwritable

OF_ARCHIVE = "archive-identity"  # a file in the index's folder
IDLE_S = 10.0  # seconds without a question after which an index is closed; to open it again takes some milliseconds
REMOVED_TOGETHER = 1_000  # documents by one question to the engine
COMMITTED = "meta.json"  # the engine's own: replaced by every commit
LOCK = ".lock"  # the ending of the engine's lock files
LOCK_REFUSED = "Failed to acquire Lockfile"  # what the engine says where it cannot create or open one
REMOVALS = "*.del"  # the engine's own: which documents of a segment are removed, named by segment and number of the commit


class IndexUnusable(Exception):
    """There is no index here, or none that can be read."""


PANIC = "PanicException"  # of the engine, for files that are not what they should be; no `Exception`, and of no module


@contextmanager
def engine_panics_as_errors() -> Iterator[None]:
    """Whatever is asked of an index in here, files that were deleted or damaged under us make it `Unusable`, not worse."""
    try:
        yield
    except (ValueError, OSError) as reason:
        raise IndexUnusable(str(reason)) from reason
    except BaseException as reason:
        if type(reason).__name__ != PANIC:
            raise
        raise IndexUnusable(str(reason)) from reason


class Layout(Struct, frozen=True):
    """What lies in an index. Another `version` means another index; every one has a field `key`, which grows."""

    name: str
    version: int
    schema: tantivy.Schema
    tokenizer: str
    analyzer: Callable[[], tantivy.TextAnalyzer]
    heap: int  # bytes that a writer may fill before it writes a segment

    def folder(self, realm: Path) -> Path:
        return realm / f"{self.name}-{self.version}"

    def remove(self, realm: Path) -> None:
        """Delete every such index of a realm, of whatever version."""
        for folder in realm.glob(f"{self.name}-*"):
            shutil.rmtree(folder, ignore_errors=True)

    def open(self, realm: Path, archive: str) -> tantivy.Index:
        """The index, if it was made from this archive."""
        folder = self.folder(realm)
        with engine_panics_as_errors():
            if (folder / OF_ARCHIVE).read_text() != archive:
                raise IndexUnusable("it was made from another archive")
            return self._ready(tantivy.Index.open(str(folder)))

    def open_through_links(self, realm: Path) -> tantivy.Index:
        """The index in a folder that cannot be written. Whoever reads a commit locks a file: ours lies beside links."""
        with engine_panics_as_errors(), tempfile.TemporaryDirectory(prefix="recollect-index-") as links:
            shutil.copyfile(self.folder(realm) / COMMITTED, Path(links, COMMITTED))  # first: a writer may go on
            for path in self.folder(realm).iterdir():
                if path.name != COMMITTED and path.suffix != LOCK:
                    Path(links, path.name).symlink_to(path.absolute())
            return self._ready(tantivy.Index.open(links))  # which has all files open from here on

    def make(self, realm: Path, archive: str) -> tantivy.Index:
        """A new, empty index. Those of other versions go with the old one."""
        self.remove(realm)
        folder = self.folder(realm)
        folder.mkdir(parents=True, mode=0o700)
        (folder / OF_ARCHIVE).write_text(archive)
        return self._ready(tantivy.Index(self.schema, path=str(folder)))

    def _ready(self, index: tantivy.Index) -> tantivy.Index:
        """Its words registered, and nothing in it that would look twice a second whether somebody has committed."""
        index.register_tokenizer(self.tokenizer, self.analyzer())
        index.config_reader("manual")
        return index


class EngineWriter:
    """Adds and removes documents; nobody sees them before `commit`. One at a time, under a lock of the realm's."""

    def __init__(self, layout: Layout, realm: Path, archive: str, before_making: Callable[[], None] = lambda: None) -> None:
        self.layout = layout
        self.folder = layout.folder(realm)
        try:
            with engine_panics_as_errors():
                self.index = layout.open(realm, archive)
                self._sweep()
                self.writer = self.index.writer(layout.heap, 1)
                self.fresh = False
        except IndexUnusable as reason:
            if self.folder.exists() and is_full(realm):
                raise self.fault(reason) from reason  # nothing may be wrong with it but that
            before_making()
            self._make(realm, archive)

    def _make(self, realm: Path, archive: str) -> None:
        try:
            self.index = self.layout.make(realm, archive)
            self.writer = self.index.writer(self.layout.heap, 1)
        except (ValueError, OSError) as reason:
            raise self.fault(reason) from reason
        self.fresh = True

    def _sweep(self) -> None:
        """Delete what a commit that was cut off left behind: the next one has its number, and would not write over it."""
        committed = json.loads((self.folder / COMMITTED).read_bytes())["opstamp"]
        for path in self.folder.glob(REMOVALS):
            if int(path.suffixes[0][1:]) > committed:
                path.unlink()

    def remove(self, field: str, numbers: Sequence[int]) -> None:
        """Remove the documents with one of these numbers. The engine's own removal by a term finds no numbers."""
        for start in range(0, len(numbers), REMOVED_TOGETHER):
            some = list(numbers[start : start + REMOVED_TOGETHER])
            self.writer.delete_documents_by_query(Query.term_set_query(self.layout.schema, field, some))

    def remove_above(self, key: int) -> None:
        self.writer.delete_documents_by_query(
            Query.range_query(self.layout.schema, "key", FieldType.Unsigned, lower_bound=key, include_lower=False)
        )

    def commit(self) -> None:
        try:
            self.writer.commit()
        except (ValueError, OSError) as reason:
            raise self.fault(reason) from reason

    def rollback(self) -> None:
        try:
            self.writer.rollback()
        finally:
            self.close()

    def close(self) -> None:
        """Wait for merges; the index's own lock is free afterwards. One that failed has nothing to wait for."""
        with suppress(ValueError, OSError):
            self.writer.wait_merging_threads()

    def fault(self, reason: Exception) -> StoreFault:
        return unwritable("the index", self.folder, reason)


class EngineReader:
    """The readers' side: a searcher that follows what a writer, in whatever process, commits. For all threads.

    An open index has a thread of the engine's own that reads a file twice a second. So one that is not asked is closed.
    """

    def __init__(self, layout: Layout, realm: Path, archive: str) -> None:
        self.folder = layout.folder(realm)
        self._layout = layout
        self._archive = archive
        self._lock = threading.Lock()
        self._index: tantivy.Index | None = None
        self._seen = 0
        self._readable = True
        self._used_at = 0.0
        self._closing: threading.Timer | None = None
        with self._lock:
            self._follow()

    def searcher(self) -> tantivy.Searcher:
        with self._lock:
            return self._follow().searcher()

    def is_readable(self) -> bool:
        """Whether the files are still there and were what they should be when they were opened."""
        try:
            with self._lock:
                self._follow()
        except IndexUnusable:
            return False
        return self._readable

    def is_open(self) -> bool:
        return self._index is not None

    def _follow(self) -> tantivy.Index:
        """The index as of the last commit."""
        with engine_panics_as_errors():
            committed = (self.folder / COMMITTED).stat().st_mtime_ns
            index = self._index or self._open()
            if committed != self._seen:
                index = self._reloaded(index)
                self._readable = self._answers(index)
                self._seen = committed
        self._index = index
        self._close_when_idle()
        return index

    def _open(self) -> tantivy.Index:
        try:
            return self._layout.open(self.folder.parent, self._archive)
        except IndexUnusable as reason:
            if LOCK_REFUSED not in str(reason):
                raise
            return self._layout.open_through_links(self.folder.parent)

    def _reloaded(self, index: tantivy.Index) -> tantivy.Index:
        try:
            index.reload()
        except ValueError as reason:
            if LOCK_REFUSED not in str(reason):
                raise
            return self._layout.open_through_links(self.folder.parent)
        return index

    def _close_when_idle(self) -> None:
        self._used_at = time.monotonic()
        if self._closing is None:
            self._close_in(IDLE_S)

    def _close_in(self, seconds: float) -> None:
        timer = threading.Timer(seconds, self._close_if_idle)
        timer.daemon = True
        with suppress(RuntimeError):  # no thread is to be had; then it stays open
            timer.start()
            self._closing = timer

    def _close_if_idle(self) -> None:
        with self._lock:
            self._closing = None
            rest = self._used_at + IDLE_S - time.monotonic()
            if rest > 0:
                self._close_in(rest)
            else:
                self._index = None  # a search that is under way keeps it until it is done

    def _probe(self) -> Query:
        """A small question about every part of the index."""
        return Query.all_query()

    def _answers(self, index: tantivy.Index) -> bool:
        try:
            with engine_panics_as_errors():
                index.searcher().search(self._probe(), limit=1, count=False)
        except IndexUnusable:
            return False
        return True
