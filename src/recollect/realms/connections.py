"""A realm's database connections, one per thread: archive, memory, and the change counter of live sessions."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from recollect.errors import ReadOnlyFolder, StoreBusy, StoreFault
from recollect.realms.manifest import Backend
from recollect.store import OutOfDate, Reader, Writer, archive_path, file_identity, is_database
from recollect.store.journaled import memory_path
from recollect.store.live import Live, live_path
from recollect.store.lock import exclusive
from recollect.store.memory import Memory

CREATION_S = 5.0  # seconds that another process may take to create or migrate the archive
POLL_S = 0.02


class Connections:
    """Opened on first use in each thread, and again when a file was replaced or a connection failed."""

    def __init__(self, folder: Path, backend: Backend, on_new_archive: Callable[[], None]) -> None:
        """`on_new_archive` is called when another archive may have replaced the previous one."""
        self._folder = folder
        self._backend = backend
        self._on_new_archive = on_new_archive
        self._local = threading.local()
        self._had_memory = False  # a memory that disappears after its first use is a fault

    def reopen(self) -> None:
        """Open everything again on its next use, in all threads."""
        self._local = threading.local()
        self._had_memory = False

    # ---- archive

    @contextmanager
    def archive(self) -> Iterator[Reader]:
        """This thread's reader of the archive, created or migrated first if needed."""
        local = self._local
        reader: Reader | None = getattr(local, "reader", None)
        if reader is None or local.archive_file != file_identity(archive_path(self._folder)) or reader.is_outdated():
            reader = local.reader = self._open_archive()
            local.archive_file = file_identity(archive_path(self._folder))
            self._on_new_archive()
        try:
            yield reader
            reader.check_unchanged()
        except StoreFault:
            local.reader = None
            raise
        finally:
            reader.interrupt_when(None)

    def _open_archive(self) -> Reader:
        """Creates or migrates the archive unless another process is writing: that one does it."""
        path = archive_path(self._folder)
        deadline = time.monotonic() + CREATION_S
        while True:
            try:
                return Reader(path)
            except OutOfDate:
                if time.monotonic() > deadline:
                    raise
            try:
                with exclusive(self._folder):
                    Writer(path).close()
            except StoreBusy:
                time.sleep(POLL_S)
            except ReadOnlyFolder:
                if path.exists():
                    raise StoreFault(
                        f"The archive {path} was written by an older Recollect, and its folder is read-only."
                        " Run `recollect sync` where the folder can be written."
                    ) from None
                return Reader(path, is_absent=True)

    # ---- memory

    @contextmanager
    def memory(self, *, writable: bool) -> Iterator[Memory]:
        """This thread's connection to the memory, created first if needed."""
        local, name = self._local, "writable_memory" if writable else "memory"
        self._check_memory()
        memory: Memory | None = getattr(local, name, None)
        if memory is None or memory.file != file_identity(memory.path) or memory.is_outdated():
            memory = self._open_memory(writable=writable)
            setattr(local, name, memory)
        try:
            yield memory
            memory.check_unchanged()
        except StoreFault:
            setattr(local, name, None)
            raise
        finally:
            memory.interrupt_when(None)

    def _check_memory(self) -> None:
        """Refuse a memory that was deleted or overwritten: SQLite might continue to write into a deleted file.

        In a JSONL realm the database may be deleted; it is rebuilt from the files.
        """
        path = memory_path(self._folder)
        if not self._had_memory:
            return
        if not path.exists():
            if self._backend is Backend.JSONL:
                return
            raise StoreFault(f"The memory {path} was deleted while in use. Start Recollect again to begin a new one.")
        if not is_database(path):
            raise StoreFault(f"The memory {path} is damaged: it does not begin with the header of a database.")

    def _open_memory(self, *, writable: bool) -> Memory:
        try:
            memory = Memory(self._folder, writable=writable)
        except OutOfDate:
            try:
                Memory(self._folder, writable=True).close()
            except ReadOnlyFolder:
                return Memory(self._folder, is_absent=True)
            memory = Memory(self._folder, writable=writable)
        self._had_memory = True
        return memory

    # ---- live sessions

    def live_changes(self) -> int:
        """The change counter of live sessions, through a read-only connection; 0 if there is no database.

        Only a database of an older version is opened for writing, once, to migrate it.
        """
        file, local = file_identity(live_path(self._folder)), self._local
        if file is None:
            return 0
        live: Live | None = getattr(local, "live", None)
        if live is None or live.file != file or live.is_outdated():
            local.live = None
            try:
                live = local.live = Live(self._folder, writable=False)
            except OutOfDate:  # deleted since the check: a reader does not create it
                return 0
        try:
            changes = live.change_count()
            live.check_unchanged()
        except StoreFault:
            local.live = None
            raise
        return changes
