"""A realm opened for reading, by any number of threads. It reports the state of its index and starts repairs."""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property, wraps
from pathlib import Path
from typing import Any, TypeVar

from recollect.errors import StoreFault
from recollect.index.engine import IndexUnusable
from recollect.index.ngrams import NGRAMS, NgramIndex, read_indexed_up_to
from recollect.index.text import TextIndex
from recollect.realms.background_jobs import BackgroundJobs
from recollect.realms.config import read as read_config
from recollect.realms.connections import Connections
from recollect.realms.index_state import REPAIRABLE, IndexCondition, condition_of, index_warnings
from recollect.realms.manifest import Backend
from recollect.realms.manifest import read as read_manifest
from recollect.realms.names import DEFAULT, check_name, new_instance_name
from recollect.realms.publisher import Publisher
from recollect.realms.semantic import SemanticSearch
from recollect.realms.temporary_folder import create_temporary_folder
from recollect.redact import redact_all
from recollect.search.substring import NgramCoverage
from recollect.settings import Settings
from recollect.store import ArchiveState, Reader
from recollect.store.forgetting import is_forgetting_unfinished
from recollect.store.journaled import memory_path
from recollect.store.lock import DISTILLING, FORGETTING, WRITING, is_held
from recollect.store.memory import DISTILLED, FAULT, Memory
from recollect.store.memory_journal import create_journal
from recollect.store.watcher_lock import why_stopped

Part = TypeVar("Part")


def built_once(build: Callable[[Any], Part]) -> "cached_property[Part]":
    """A part of a realm that the first thread builds for all: from Python 3.12 on, `cached_property` has no lock."""

    @wraps(build)
    def part(realm: "Realm") -> Part:
        with realm._build_lock:
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
        """`is_temporary`: nothing stays on disk after this process, whatever the backend."""
        check_name(name)
        self._is_temporary = is_temporary
        self.name = name
        self.instance = instance or new_instance_name()
        self.settings = settings
        self.home = settings.home / "realms" / name  # has the manifest and the config, whatever the backend
        self.sync_fault = ""  # why this process, which should start the reading of new log lines, cannot do so
        self._build_lock = threading.RLock()  # reentrant: one part is built from others
        self._index_lock = threading.Lock()
        self._text_index: TextIndex | None = None
        self._ngram_index: NgramIndex | None = None
        self._distils_itself = False  # the publisher's thread distils the turns of this process

    # ---- parts

    @cached_property
    def backend(self) -> Backend:
        """The backend that the manifest names. A realm of an early version has no manifest."""
        manifest = read_manifest(self.home)
        return manifest.backend if manifest is not None else Backend.SQLITE

    @built_once
    def folder(self) -> Path:
        """The folder of the archive, the indexes and the sessions. A realm in memory has a temporary one."""
        if self._is_temporary or self.backend is Backend.MEMORY:
            return create_temporary_folder()
        if self.backend is Backend.JSONL:
            create_journal(self.home)
        return self.home

    @built_once
    def connections(self) -> Connections:
        """Database connections, one per thread."""
        return Connections(self.folder, self.backend, self._close_indexes)

    @built_once
    def semantic(self) -> SemanticSearch:
        """The embedding model and the vector indexes."""
        return SemanticSearch(self.folder, self.settings)

    @built_once
    def background_jobs(self) -> BackgroundJobs:
        """Processes that repair the index or distil the memory."""
        return BackgroundJobs(self.folder, self.name, self.settings.home)

    @built_once
    def publisher(self) -> Publisher:
        """Copies committed turns of live sessions into the archive."""
        return Publisher(self.folder, self.settings, lambda: self.live_changes())

    # ---- settings

    def redact(self, value: Any) -> Any:
        """A JSON value without secrets; unchanged if redaction is off."""
        return redact_all(value) if self.settings.redact else value

    def is_writable(self) -> bool:
        return os.access(self.folder, os.W_OK)

    def deadline_ms(self, default: int) -> int:
        """The time an operation has: by the realm's config, else by the settings, else `default`."""
        try:
            configured = read_config(self.home).config.get("deadline_ms", self.settings.deadline_ms)
        except StoreFault:  # `config get` reports an unreadable config; it must not stop every answer
            configured = self.settings.deadline_ms
        return configured if type(configured) is int else default

    # ---- databases

    @contextmanager
    def open_archive(self) -> Iterator[Reader]:
        """This thread's reader of the archive, with all turns committed before the call."""
        self.publisher.catch_up()
        if is_forgetting_unfinished(self.folder):
            self._finish_forgetting()
        with self.connections.archive() as reader:
            yield reader

    @contextmanager
    def open_memory(self, *, writable: bool = False) -> Iterator[Memory]:
        """This thread's connection to the memory, created first if needed."""
        with self.connections.memory(writable=writable) as memory:
            yield memory

    def live_changes(self) -> int:
        """The change counter of live sessions; 0 if there never were any."""
        return self.connections.live_changes()

    def publish_soon(self) -> None:
        """Copy new commits into the archive and distil them, in a thread of this process."""
        self._distils_itself = True
        self.publisher.wake()

    def reopen(self) -> None:
        """Open all databases and indexes again on their next use: a repair replaced them."""
        self._close_indexes()
        self.semantic.reopen()
        self.connections.reopen()

    # ---- indexes

    def text_index(self, reader: Reader) -> TextIndex | None:
        """The text index, or None while there is none to read."""
        with self._index_lock:
            if self._text_index is None:
                try:
                    self._text_index = TextIndex(self.folder, reader.meta("identity") or "")
                except IndexUnusable:
                    return None
            return self._text_index

    def ngrams(self, reader: Reader) -> NgramCoverage:
        """The n-gram index and its last event. The last event is read first, so it is never ahead of the index."""
        archive = reader.meta("identity") or ""
        last_key = read_indexed_up_to(self.folder, archive)
        with self._index_lock:
            if self._ngram_index is None and last_key:
                try:
                    self._ngram_index = NgramIndex(self.folder, archive)
                except IndexUnusable:
                    last_key = 0
            return NgramCoverage(self._ngram_index, last_key) if last_key else NgramCoverage(None, 0)

    def close_text_index(self) -> None:
        """Close the text index, which a search could not read. It is opened again on its next use."""
        self._text_index = None

    def discard_ngram_index(self) -> None:
        """Delete the n-gram index, which could not be read, unless it is being rebuilt now. Distilling rebuilds it."""
        self._ngram_index = None
        if not is_held(self.folder, DISTILLING):
            NGRAMS.remove(self.folder)

    def _close_indexes(self) -> None:
        self._text_index = self._ngram_index = None

    # ---- state and warnings

    def index_condition(self, reader: Reader) -> IndexCondition:
        """How the text index compares with the archive."""
        return self._index_state(reader)[0]

    def _index_state(self, reader: Reader) -> tuple[IndexCondition, ArchiveState]:
        index = self.text_index(reader)
        is_readable = index is not None and index.is_readable()
        if not is_readable:
            self.close_text_index()
        state = reader.archive_state()
        return condition_of(state, is_readable=is_readable), state

    def warnings(self, reader: Reader) -> list[str]:
        """Warnings for text search. Starts a repair of the index if it needs one."""
        return self._text_warnings(*self._index_state(reader))

    def memory_warnings(self, reader: Reader) -> list[str]:
        """Warnings for the memory. Starts distilling if it is behind."""
        return self._memory_warnings(reader, reader.archive_state())

    def all_warnings(self, reader: Reader) -> list[str]:
        """`warnings` and `memory_warnings`, from a single read of the archive's state."""
        condition, state = self._index_state(reader)
        return [*self._text_warnings(condition, state), *self._memory_warnings(reader, state)]

    def sync_warnings(self) -> list[str]:
        """A warning if new log lines are not being read although some process should read them."""
        reason = self.sync_fault or why_stopped(self.folder)
        return [f"New log lines are not being read: {reason}"] if reason else []

    def semantic_warnings(self) -> list[str]:
        """A warning if questions are answered by words only although the settings want vectors."""
        reason: object = self.semantic.fault
        if reason is None and self.settings.search.mode != "text" and memory_path(self.folder).exists():
            with self.open_memory() as memory:
                reason = memory.meta(FAULT)
        return [f"Searching by words only: {reason}"] if reason else []

    def _text_warnings(self, condition: IndexCondition, state: ArchiveState) -> list[str]:
        if condition in REPAIRABLE:
            self._repair_index(condition)
        unindexed, is_writable = state.unindexed(), self.is_writable()
        return [*self.sync_warnings(), *index_warnings(condition, unindexed, is_writable=is_writable)]

    def _memory_warnings(self, reader: Reader, state: ArchiveState) -> list[str]:
        with self.open_memory() as memory:
            fault, distilled = memory.meta(FAULT), memory.meta(DISTILLED) or ""
        warnings = [f"Not everything can be found by meaning: {fault}"] if fault else self.semantic_warnings()
        if fault or state.last_key == 0 or distilled.startswith(reader.fingerprint()):
            return warnings
        self._distil()
        if not self.is_writable():
            return [*warnings, "The newest turns are not processed, because the state folder is read-only."]
        return [*warnings, "Still processing the newest turns. Answers by meaning are incomplete until then."]

    # ---- repairs

    def repair_now(self) -> None:
        """Repair the index and wait for it, in a process that answers a single query."""
        with self.open_archive() as reader:
            self.warnings(reader)
        self.background_jobs.wait(WRITING)

    def _repair_index(self, condition: IndexCondition) -> None:
        """Start a repair, unless another process is writing: that process repairs the index."""
        if self.backend is not Backend.MEMORY:
            options = () if condition is IndexCondition.DAMAGED else ("--behind",)
            self.background_jobs.start(WRITING, "rebuild", *options)

    def _finish_forgetting(self) -> None:
        """Start to erase what a killed process had begun to forget."""
        if self.backend is not Backend.MEMORY:
            self.background_jobs.start(FORGETTING, "forget", "--finish")

    def _distil(self) -> None:
        """Start distilling, unless another process is writing: that process distils afterwards."""
        if self._distils_itself or self.backend is Backend.MEMORY:
            self.publish_soon()
        elif not is_held(self.folder, WRITING):
            self.background_jobs.start(DISTILLING, "distil")
