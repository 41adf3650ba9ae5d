"""The base of all tantivy indexes: a folder, the identity of the archive, one writer at a time, many readers.

An index is never repaired. An index that cannot be opened, or was built from another archive, is deleted and rebuilt.
"""

import json
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import tantivy
from msgspec import Struct
from tantivy import DocAddress, FieldType, Query

from recollect.disk import index_fault, is_disk_full
from recollect.errors import StoreFault

ARCHIVE_ID = "archive-identity"  # a file in the index's folder: the identity of the archive that the index was built from
INDEXING_THREADS = min(4, os.cpu_count() or 1)  # if a caller waits; each thread writes segments of its own
IDLE_S = 10.0  # seconds without a query after which an index is closed; opening it again takes some milliseconds
DELETE_BATCH = 1_000  # documents in one delete query
COMMITTED = "meta.json"  # tantivy's file that every commit replaces
LOCK = ".lock"  # suffix of tantivy's lock files
LOCK_REFUSED = "Failed to acquire Lockfile"  # tantivy's message if it cannot create or open a lock file
DELETIONS = "*.del"  # tantivy's lists of deleted documents, named by segment and commit number


class IndexUnusable(Exception):
    """The index does not exist or cannot be read."""


PANIC = "PanicException"  # tantivy raises it for damaged files; it is not an `Exception`, and no module exports it


@contextmanager
def engine_panics_as_errors() -> Iterator[None]:
    """Raise `IndexUnusable` when the files of an index turn out to be deleted or damaged."""
    try:
        yield
    except (ValueError, OSError) as reason:
        raise IndexUnusable(str(reason)) from reason
    except BaseException as reason:
        if type(reason).__name__ != PANIC:
            raise
        raise IndexUnusable(str(reason)) from reason


class IndexLayout(Struct, frozen=True):
    """The schema and settings of an index. A new `version` means a new index. Every schema has an increasing `key` field."""

    name: str
    version: int
    schema: tantivy.Schema
    tokenizer: str
    analyzer: Callable[[], tantivy.TextAnalyzer]
    heap: int  # bytes of memory that a writer fills before it writes a segment

    def folder(self, realm: Path) -> Path:
        return realm / f"{self.name}-{self.version}"

    def remove(self, realm: Path) -> None:
        """Delete this index of a realm, in all versions."""
        for folder in realm.glob(f"{self.name}-*"):
            shutil.rmtree(folder, ignore_errors=True)

    def open(self, realm: Path, archive: str) -> tantivy.Index:
        """The index. Raises `IndexUnusable` if it was not built from this archive."""
        folder = self.folder(realm)
        with engine_panics_as_errors():
            if (folder / ARCHIVE_ID).read_text() != archive:
                raise IndexUnusable("it was built from another archive")
            return self._configured(tantivy.Index.open(str(folder)))

    def open_through_links(self, realm: Path) -> tantivy.Index:
        """The index in a read-only folder. A temporary folder of links has the lock file that a reader must create."""
        with engine_panics_as_errors(), tempfile.TemporaryDirectory(prefix="recollect-index-") as links:
            shutil.copyfile(self.folder(realm) / COMMITTED, Path(links, COMMITTED))  # first: a writer may commit meanwhile
            for path in self.folder(realm).iterdir():
                if path.name != COMMITTED and path.suffix != LOCK:
                    Path(links, path.name).symlink_to(path.absolute())
            return self._configured(tantivy.Index.open(links))  # the opened index holds all files open

    def create(self, realm: Path, archive: str) -> tantivy.Index:
        """A new, empty index. All older versions are deleted."""
        self.remove(realm)
        folder = self.folder(realm)
        folder.mkdir(parents=True, mode=0o700)
        (folder / ARCHIVE_ID).write_text(archive)
        return self._configured(tantivy.Index(self.schema, path=str(folder)))

    def _configured(self, index: tantivy.Index) -> tantivy.Index:
        """The index with its tokenizer, and without tantivy's polling for commits twice a second."""
        index.register_tokenizer(self.tokenizer, self.analyzer())
        index.config_reader("manual")
        return index


class EngineWriter:
    """Adds and removes documents; readers see them after `commit`. Only one writer may exist, under a realm's lock.

    `before_create` is called before a missing or unusable index is created.
    """

    def __init__(
        self,
        layout: IndexLayout,
        realm: Path,
        archive: str,
        before_create: Callable[[], None] = lambda: None,
        threads: int = 1,
    ) -> None:
        """`threads` index documents, and each writes segments of its own."""
        self.layout = layout
        self._threads = threads
        self.folder = layout.folder(realm)
        try:
            with engine_panics_as_errors():
                self.index = layout.open(realm, archive)
                self._delete_uncommitted()
                self.writer = self.index.writer(layout.heap, threads)
                self.is_new = False
        except IndexUnusable as reason:
            if self.folder.exists() and is_disk_full(realm):
                raise self.fault(reason) from reason  # the full disk may be the only fault
            before_create()
            self._create(realm, archive)

    def _create(self, realm: Path, archive: str) -> None:
        try:
            self.index = self.layout.create(realm, archive)
            self.writer = self.index.writer(self.layout.heap, self._threads)
        except (ValueError, OSError) as reason:
            raise self.fault(reason) from reason
        self.is_new = True

    def _delete_uncommitted(self) -> None:
        """Delete files of an interrupted commit. The next commit has the same number, and does not overwrite them."""
        commit_number = json.loads((self.folder / COMMITTED).read_bytes())["opstamp"]
        for path in self.folder.glob(DELETIONS):
            if int(path.suffixes[0][1:]) > commit_number:
                path.unlink()

    def remove(self, field: str, numbers: Sequence[int]) -> None:
        """Remove the documents whose field has one of these numbers. Tantivy cannot delete numbers by term."""
        for start in range(0, len(numbers), DELETE_BATCH):
            batch = list(numbers[start : start + DELETE_BATCH])
            self.writer.delete_documents_by_query(Query.term_set_query(self.layout.schema, field, batch))

    def remove_above(self, key: int) -> None:
        """Remove the documents with a greater key."""
        self.writer.delete_documents_by_query(
            Query.range_query(self.layout.schema, "key", FieldType.Unsigned, lower_bound=key, include_lower=False)
        )

    def keys_beside_deleted(self) -> list[int]:
        """The keys of all documents in segments with deleted documents, whose words these segments still have."""
        self.index.reload()
        searcher = self.index.searcher()
        segments = json.loads((self.folder / COMMITTED).read_bytes())["segments"]
        addresses = [
            DocAddress(place, document)
            for place, segment in enumerate(segments)
            if segment.get("deletes")
            for document in range(segment["max_doc"])
        ]
        return sorted({int(key) for key in searcher.fast_field_values("key", addresses) if key is not None})

    def delete_old_files(self) -> None:
        """Delete the files of segments that were replaced."""
        try:
            self.writer.garbage_collect_files()
        except (ValueError, OSError) as reason:
            raise self.fault(reason) from reason

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
        """Wait for merges, then release tantivy's lock. A failed writer has no merges."""
        with suppress(ValueError, OSError):
            self.writer.wait_merging_threads()

    def fault(self, reason: Exception) -> StoreFault:
        return index_fault("the index", self.folder, reason)


class EngineReader:
    """Reads an index. It sees every commit of a writer in any process. Threads may share it.

    An open index costs CPU time: a thread of tantivy reads a file twice a second. So an idle index is closed.
    """

    def __init__(self, layout: IndexLayout, realm: Path, archive: str) -> None:
        self.folder = layout.folder(realm)
        self._layout = layout
        self._archive = archive
        self._lock = threading.Lock()
        self._index: tantivy.Index | None = None
        self._commit_mtime = 0
        self._readable = True
        self._used_at = 0.0
        self._idle_timer: threading.Timer | None = None
        with self._lock:
            self._refresh()

    def searcher(self) -> tantivy.Searcher:
        """A searcher of the last commit."""
        with self._lock:
            return self._refresh().searcher()

    def is_readable(self) -> bool:
        """Whether the files exist and were intact when they were opened."""
        try:
            with self._lock:
                self._refresh()
        except IndexUnusable:
            return False
        return self._readable

    def is_open(self) -> bool:
        return self._index is not None

    def _refresh(self) -> tantivy.Index:
        """The index at the last commit. It is opened or reloaded if necessary."""
        with engine_panics_as_errors():
            committed = (self.folder / COMMITTED).stat().st_mtime_ns
            index = self._index or self._open()
            if committed != self._commit_mtime:
                index = self._reload(index)
                self._readable = self._is_intact(index)
                self._commit_mtime = committed
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

    def _reload(self, index: tantivy.Index) -> tantivy.Index:
        try:
            index.reload()
        except ValueError as reason:
            if LOCK_REFUSED not in str(reason):
                raise
            return self._layout.open_through_links(self.folder.parent)
        return index

    def _close_when_idle(self) -> None:
        self._used_at = time.monotonic()
        if self._idle_timer is None:
            self._check_idle_after(IDLE_S)

    def _check_idle_after(self, seconds: float) -> None:
        timer = threading.Timer(seconds, self._close_if_idle)
        timer.daemon = True
        with suppress(RuntimeError):  # no more threads can be started; the index stays open
            timer.start()
            self._idle_timer = timer

    def _close_if_idle(self) -> None:
        with self._lock:
            self._idle_timer = None
            remaining = self._used_at + IDLE_S - time.monotonic()
            if remaining > 0:
                self._check_idle_after(remaining)
            else:
                self._index = None  # a running search has its own reference

    def _probe(self) -> Query:
        """A cheap query that reads every segment."""
        return Query.all_query()

    def _is_intact(self, index: tantivy.Index) -> bool:
        try:
            with engine_panics_as_errors():
                index.searcher().search(self._probe(), limit=1, count=False)
        except IndexUnusable:
            return False
        return True
