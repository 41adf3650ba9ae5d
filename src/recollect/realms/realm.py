"""A realm opened for reading, by any number of threads. It mends its index, and says what a searcher should know of it."""

import logging
import os
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property, wraps
from pathlib import Path
from typing import Any, TypeVar

from recollect import OURS
from recollect.embed import Embedder, EmbedderUnavailable, open_embedder
from recollect.errors import ReadOnlyFolder, StoreBusy, StoreFault
from recollect.index.engine import IndexUnusable
from recollect.index.ngrams import NGRAMS, NgramIndex, seen
from recollect.index.text import TextIndex
from recollect.realms.config import read as read_config
from recollect.realms.index_condition import READ_ONLY, REPAIRABLE, WARNINGS, IndexCondition
from recollect.realms.manifest import Backend
from recollect.realms.manifest import read as read_manifest
from recollect.realms.names import DEFAULT, check_name, new_instance_name
from recollect.realms.publisher import Publisher
from recollect.realms.temporary_folder import create_temporary_folder
from recollect.redact import redact_all
from recollect.search import Meaning, Mode
from recollect.search.substring import Known
from recollect.settings import Settings
from recollect.store import OutOfDate, Reader, Writer, archive_of, file_at, is_database
from recollect.store.live import Live, live_of
from recollect.store.lock import DISTILLING, WRITING, exclusive, is_held
from recollect.store.memory import FAULT, LEVEL, Memory, memory_of
from recollect.store.memory_journal import begin as begin_lines
from recollect.store.watcher_lock import why_stopped

PATIENCE_S = 30.0  # seconds before a model that did not work is tried again
BEHIND = 200  # events not yet findable that are worth a warning; fewer are a moment's work
CREATED_WITHIN = 5.0  # seconds that another process may take to make the archive we want to read

log = logging.getLogger(__name__)

Answer = TypeVar("Answer")
Part = TypeVar("Part")


def built_once(build: Callable[[Any], Part]) -> "cached_property[Part]":
    """A part of a realm that the first thread to ask builds for all: from Python 3.12 on, `cached_property` has no lock."""

    @wraps(build)
    def part(realm: "Realm") -> Part:
        with realm._building:
            if build.__name__ not in realm.__dict__:
                realm.__dict__[build.__name__] = build(realm)
            built: Part = realm.__dict__[build.__name__]
            return built

    return cached_property(part)


class Realm:
    """A realm opened for reading, by any number of threads."""

    def __init__(
        self, settings: Settings, name: str = DEFAULT, instance: str | None = None, *, is_temporary: bool = False
    ) -> None:
        """`is_temporary`: nothing of it is kept on disk beyond this process, whatever its backend."""
        check_name(name)
        self._is_temporary = is_temporary
        self.name = name
        self.instance = instance or new_instance_name()
        self.settings = settings
        self.home = settings.home / "realms" / name  # its manifest and its config, however it is kept
        self._building = threading.RLock()  # one part is built of others
        self._local = threading.local()
        self._has_memory = False  # once it was there, it must stay
        self._index: TextIndex | None = None
        self._pieces: NgramIndex | None = None
        self._at_work: dict[str, subprocess.Popen[bytes]] = {}  # for us, by the lock that they hold
        self._publishes = False  # a thread of ours distils what is committed here, when it is woken
        self._opening = threading.Lock()
        self._model: Embedder | EmbedderUnavailable | None = None
        self._ask_model_again = 0.0
        self._vectors: dict[str, Any] = {}
        self.sync_fault = ""  # why this process cannot have new log lines read, though it should

    @cached_property
    def backend(self) -> Backend:
        """How the realm is kept: pinned in its manifest. One of an earlier version has none yet."""
        manifest = read_manifest(self.home)
        return manifest.backend if manifest is not None else Backend.SQLITE

    @built_once
    def folder(self) -> Path:
        """Where its archive, its indexes and its sessions lie; of a realm in memory, for as long as the process lives."""
        if self._is_temporary or self.backend is Backend.MEMORY:
            return create_temporary_folder()
        if self.backend is Backend.JSONL:
            begin_lines(self.home)
        return self.home

    def redact(self, value: Any) -> Any:
        """What is stored of a JSON value that somebody gave: all of it but its secrets, unless the owner wants these too."""
        return redact_all(value) if self.settings.redact else value

    @built_once
    def publisher(self) -> Publisher:
        """Brings what is committed of live sessions into the archive."""
        return Publisher(self.folder, self.settings, lambda: self.live_changes())

    def live_changes(self) -> int:
        """How often live sessions were committed here; 0 where none ever was. Read without opening them for writing."""
        file = file_at(live_of(self.folder))
        if file is None:
            return 0
        live: Live | None = getattr(self._local, "live", None)
        if live is None or live.file != file or live.is_outdated():
            live = self._local.live = Live(self.folder, writable=False)
        return live.changes()

    def publish_soon(self) -> None:
        """Bring what was just committed into the archive and the memory, in a thread of this process."""
        self._publishes = True
        self.publisher.wake()

    def is_writable(self) -> bool:
        return os.access(self.folder, os.W_OK)

    def deadline_ms(self, usual: int) -> int:
        """The time an operation has, unless this realm's config or the settings say otherwise."""
        try:
            configured = read_config(self.home).config.get("deadline_ms", self.settings.deadline_ms)
        except StoreFault:  # a config that cannot be read is named by `config get`; it must not stop every answer
            configured = self.settings.deadline_ms
        return configured if type(configured) is int else usual

    @contextmanager
    def open_archive(self) -> Iterator[Reader]:
        """This thread's connection to the archive; a broken one is not kept. What was committed here can be read in it."""
        self.publisher.catch_up()
        reader: Reader | None = getattr(self._local, "reader", None)
        file = file_at(archive_of(self.folder))  # another one may have taken the archive's place
        if reader is None or self._local.file != file or reader.is_outdated():
            reader = self._local.reader = self._open_reader()
            self._local.file = file_at(archive_of(self.folder))
            self._index = self._pieces = None
        try:
            yield reader
            reader.check_unchanged()
        except StoreFault:
            self._local.reader = None
            raise
        finally:
            reader.stop_when(None)

    def _open_reader(self) -> Reader:
        """A reader of the archive, which is made or brought up to date first unless some writer is about to do so."""
        path = archive_of(self.folder)
        until = time.monotonic() + CREATED_WITHIN
        while True:
            try:
                return Reader(path)
            except OutOfDate:
                if time.monotonic() > until:
                    raise
            try:
                with exclusive(self.folder):
                    Writer(path).close()
            except StoreBusy:
                time.sleep(0.02)
            except ReadOnlyFolder:
                if path.exists():
                    raise StoreFault(
                        f"The archive {path} was written by an older Recollect, and its folder is read-only."
                        " Run `recollect sync` where the folder can be written."
                    ) from None
                return Reader(path, is_absent=True)

    def text_index(self, reader: Reader) -> TextIndex | None:
        """The text index, or None while there is none to read."""
        with self._opening:
            if self._index is None:
                try:
                    self._index = TextIndex(self.folder, reader.meta("identity") or "")
                except IndexUnusable:
                    return None
            return self._index

    def ngrams(self, reader: Reader) -> Known:
        """What finds strings inside words, and how far it is. Its mark is read first: it may only be behind."""
        archive = reader.meta("identity") or ""
        mark = seen(self.folder, archive)
        with self._opening:
            if self._pieces is None and mark:
                try:
                    self._pieces = NgramIndex(self.folder, archive)
                except IndexUnusable:
                    mark = 0
            return Known(self._pieces, mark) if mark else Known(None, 0)

    # ---- memory and meaning

    @contextmanager
    def open_memory(self, *, writable: bool = False) -> Iterator[Memory]:
        """This thread's connection to the memory, which is made where there is none yet."""
        name = "memory_for_writing" if writable else "memory"
        self._check_memory()
        memory: Memory | None = getattr(self._local, name, None)
        # Another file may have taken the memory's place.
        if memory is None or memory.file != file_at(memory.path) or memory.is_outdated():
            memory = self._connect_memory(writable=writable)
            setattr(self._local, name, memory)
        try:
            yield memory
            memory.check_unchanged()
        except StoreFault:
            setattr(self._local, name, None)
            raise
        finally:
            memory.stop_when(None)

    def _check_memory(self) -> None:
        """A memory deleted or overwritten under us is a fault: SQLite might go on writing into a file that nobody sees.

        Where files of lines are the truth it may be deleted, and is made of them again.
        """
        path = memory_of(self.folder)
        if self._has_memory and not path.exists():
            if self.backend is Backend.JSONL:
                return
            raise StoreFault(f"The memory {path} was deleted while in use. Start Recollect again to begin a new one.")
        if self._has_memory and not is_database(path):
            raise StoreFault(f"The memory {path} is damaged: it does not begin as a database does.")

    def _connect_memory(self, *, writable: bool) -> Memory:
        try:
            memory = Memory(self.folder, writable=writable)
        except OutOfDate:
            try:
                Memory(self.folder, writable=True).close()
            except ReadOnlyFolder:
                return Memory(self.folder, is_absent=True)
            memory = Memory(self.folder, writable=writable)
        self._has_memory = True
        return memory

    def hybrid_search(self, of: str, mode: Mode, ask: Callable[[Meaning | None], Answer]) -> Answer:
        """Ask by meaning too, where the mode wants that; by words alone where the model does not answer."""
        meaning = self.vector_search(of) if mode != "text" else None
        try:
            return ask(meaning)
        except EmbedderUnavailable as reason:
            self._model, self._ask_model_again = reason, time.monotonic() + PATIENCE_S
            return ask(None)

    def vector_search(self, of: str) -> Meaning | None:
        """The vectors of events or of observations with the model that they are of; None while there are none to use."""
        if not any(self.folder.glob(f"vectors-{of}-*")) or (model := self.embedder()) is None:
            return None  # asked in this order: where there are no vectors, nothing heavy is loaded
        from recollect.index import vectors

        try:
            with self._opening:
                known = self._vectors.get(of)
                index = known.followed() if known is not None else vectors.VectorIndex(self.folder, of)
                self._vectors[of] = index
        except vectors.VectorsUnusable:
            self._vectors.pop(of, None)
            return None
        return Meaning(index, model) if index.head.model == model.name else None

    def embedder(self) -> Embedder | None:
        """The model of these settings, opened once; None where there is none that works."""
        with self._opening:
            if isinstance(self._model, EmbedderUnavailable) and time.monotonic() > self._ask_model_again:
                self._model = None
            if self._model is None:
                self._ask_model_again = time.monotonic() + PATIENCE_S
                try:
                    self._model = open_embedder(self.settings.embedding, os.environ)
                except EmbedderUnavailable as reason:
                    self._model = reason
            return None if isinstance(self._model, EmbedderUnavailable) else self._model

    def semantic_warnings(self) -> list[str]:
        """Why questions are answered by words alone, where they should not be."""
        reason: object = self._model if isinstance(self._model, EmbedderUnavailable) else None
        if reason is None and self.settings.search.mode != "text" and memory_of(self.folder).exists():
            with self.open_memory() as memory:
                reason = memory.meta(FAULT)
        return [f"Searching by words only: {reason}"] if reason else []

    def memory_warnings(self, reader: Reader) -> list[str]:
        """What a searcher should know about the state of the memory; and the start of making it level."""
        with self.open_memory() as memory:
            fault, level = memory.meta(FAULT), memory.meta(LEVEL) or ""
        behind = reader.last_key() > 0 and not level.startswith(reader.state())
        warnings = [f"Not everything can be found by meaning: {fault}"] if fault else self.semantic_warnings()
        if not behind or fault:
            return warnings
        self._distil()
        if not self.is_writable():
            return [*warnings, "The memory lacks what was read last, and the state folder is read-only."]
        return [*warnings, "The memory is still being made of what was read last."]

    def close_text_index(self) -> None:
        """A search found the index unreadable: open it anew next time."""
        self._index = None

    def discard_ngram_index(self) -> None:
        """The same of the index of pieces, which goes, so that distilling makes it anew; unless that is under way."""
        self._pieces = None
        if not is_held(self.folder, DISTILLING):
            NGRAMS.remove(self.folder)

    def reopen(self) -> None:
        """After a repair: open everything anew."""
        self._index = self._pieces = None
        self._vectors = {}
        self._local = threading.local()
        self._has_memory = False

    def index_condition(self, reader: Reader) -> IndexCondition:
        """How the index stands to the archive."""
        if reader.last_key() == 0:
            return IndexCondition.EMPTY
        index = self.text_index(reader)
        if index is None or not index.is_readable():
            self.close_text_index()
            return IndexCondition.DAMAGED
        # Asked after the index was opened: a new one is announced here before it exists.
        last, indexed = reader.last_key(), int(reader.meta("indexed") or 0)
        if indexed == 0:
            return IndexCondition.REBUILDING
        return IndexCondition.UP_TO_DATE if indexed == last else IndexCondition.BEHIND

    def warnings(self, reader: Reader) -> list[str]:
        """What a searcher should know about the state of this realm; and the start of mending it."""
        condition = self.index_condition(reader)
        if condition is IndexCondition.DAMAGED:
            self._repair_index()
        elif condition in {IndexCondition.BEHIND, IndexCondition.REBUILDING}:
            self._repair_index("--behind")
        behind = reader.last_key() - int(reader.meta("indexed") or 0)
        stopped = self.sync_warnings()
        if condition in REPAIRABLE and not self.is_writable():
            return [*stopped, READ_ONLY.format(behind=behind)]
        if condition not in WARNINGS or (condition is IndexCondition.BEHIND and behind <= BEHIND):
            return stopped
        return [*stopped, WARNINGS[condition].format(behind=behind)]

    def sync_warnings(self) -> list[str]:
        """Why new log lines are not being read, where some process should read them."""
        reason = self.sync_fault or why_stopped(self.folder)
        return [f"New log lines are not being read: {reason}"] if reason else []

    def repair_now(self) -> None:
        """Bring the index level before a single question, where nobody else does it and the caller can wait."""
        with self.open_archive() as reader:
            self.warnings(reader)
        if WRITING in self._at_work:
            self._at_work[WRITING].wait()

    def _repair_index(self, *options: str) -> None:
        """Mend the index, unless somebody is writing and so will do it."""
        if self.backend is not Backend.MEMORY:
            self._start_background_job(WRITING, "rebuild", *options)

    def _distil(self) -> None:
        """Bring the memory level, unless somebody is at it, or is writing and so will do it afterwards."""
        if self._publishes or self.backend is Backend.MEMORY:
            self.publish_soon()
        elif not is_held(self.folder, WRITING):
            self._start_background_job(DISTILLING, "distil")

    def _start_background_job(self, work: str, *command: str) -> None:
        """Start a process of its own for some work, unless that is under way or the folder cannot be written."""
        ours = self._at_work.get(work)
        if not self.is_writable() or is_held(self.folder, work) or (ours is not None and ours.poll() is None):
            return
        environment = {**os.environ, "RECOLLECT_HOME": str(self.settings.home)}
        nowhere = subprocess.DEVNULL
        self._at_work[work] = subprocess.Popen(
            [*OURS, *command, "--quiet", "--realm", self.name],
            env=environment,
            stdin=nowhere,
            stdout=nowhere,
            stderr=nowhere,
        )
