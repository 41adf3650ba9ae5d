"""Reads and commits live sessions, and closes turns whose process has died."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from recollect.errors import SessionNotFound, StoreFault
from recollect.live.event_sequence import last_saved
from recollect.live.transcript_builder import encode_messages, notice_message, user_message
from recollect.model import now_ms
from recollect.processes import start_time, stop_detached, stop_group
from recollect.realms.leases import is_alive
from recollect.realms.manifest import Backend
from recollect.redact import redact
from recollect.store.live import Live, LiveRow, Message, RunningRow, live_path
from recollect.store.sqlite.database import file_identity
from recollect.store.transcripts import Transcripts

INTERRUPTED = "The turn was interrupted."
ARCHIVED = "The session was archived while this turn ran."
CRASHED = "The process that ran this turn ended without finishing it."


class CommittedSessions:
    """The database of a realm's live sessions, for all threads of a process; in a JSONL realm also the files beside it."""

    def __init__(self, folder: Path, backend: Backend, *, redact: bool) -> None:
        self.folder = folder
        self._files = Transcripts(folder) if backend is Backend.JSONL else None
        self._redact = redact
        self._local = threading.local()
        self._sync_lock = threading.Lock()
        self._synced: Live | None = None  # last compared with the files; stays open, so that its inode is not reused

    @contextmanager
    def connection(self) -> Iterator[Live]:
        """This thread's connection, opened again if it failed or the file was replaced."""
        live: Live | None = getattr(self._local, "live", None)
        if live is None or live.file != file_identity(live.path) or live.is_outdated():
            live = self._local.live = Live(self.folder)
        self._sync_with_files(live)
        try:
            yield live
            live.check_unchanged()
        except StoreFault:
            self._local.live = None
            raise
        finally:
            live.interrupt_when(None)

    def _sync_with_files(self, live: Live) -> None:
        """In a JSONL realm, bring a database that is new to this process up to date with the files."""
        if self._files is None or live.is_read_only or (self._synced is not None and self._synced.file == live.file):
            return
        with self._sync_lock:
            with live.transaction():
                self._files.sync_all(live)
            self._synced = live

    def changes(self) -> int:
        """The change counter, which every commit increases; 0 if there never was one."""
        if not live_path(self.folder).exists() and (self._files is None or not self._files.exist()):
            return 0
        with self.connection() as live:
            return live.change_count()

    @contextmanager
    def session_transaction(self, live: Live, session: bytes, *, durable: bool = False) -> Iterator[LiveRow]:
        """A transaction over an open session, after closing a crashed turn. The closing is committed in any case.

        Raises `SessionNotFound` if there is no open session of this id.
        """
        not_found: SessionNotFound | None = None
        with live.transaction(durable=durable):
            self.recover(live, session)
            try:
                row = live.active_session(session)
            except SessionNotFound as reason:
                not_found = reason
            else:
                yield row
        if not_found is not None:
            raise not_found

    def redact(self, text: str) -> str:
        return redact(text) if self._redact else text

    def encode(self, messages: list[Message]) -> list[bytes]:
        """Messages as they are stored."""
        return encode_messages(messages, redact=self._redact)

    # ---- inside a transaction

    def commit(self, live: Live, row: LiveRow, bodies: list[bytes], *, durable: bool = False) -> None:
        """Commit a session with more messages. In a JSONL realm its file comes first."""
        if self._files is not None:
            row.messages += len(bodies)
            self._files.append(row, bodies, durable=durable)
            row.messages -= len(bodies)
        live.append(row, bodies)
        live.put(row)

    def remove(self, live: Live, session: bytes) -> None:
        """Remove a session. In a JSONL realm its file goes first. Call inside a transaction."""
        if self._files is not None:
            self._files.remove(session)
        live.remove(session)

    def reload_from_file(self, live: Live, session: bytes) -> None:
        """In a JSONL realm, read the session's file into the database. Call inside a transaction."""
        if self._files is not None:
            self._files.sync_session(live, session)

    def recover(self, live: Live, session: bytes) -> None:
        """Close a crashed turn, so that its session can be used again. Call inside a transaction."""
        self.reload_from_file(live, session)
        running, row = live.running(session), live.session(session)
        if running is None or row is None:
            return
        if row.archived_at is not None:  # as its file says: the archiving process may have died before it wrote here
            live.cancel(session)
        if is_alive(live, running.holder):
            return
        if row.turns >= running.turn:  # the turn was committed to its file; only the database lacks it
            live.end_turn(running)
        else:
            self.close_turn(live, row, running, "crash", CRASHED)
        threading.Thread(target=stop_orphans, args=(running,)).start()  # not a daemon: it finishes before the process exits

    def close_turn(self, live: Live, row: LiveRow, running: RunningRow, kind: str, text: str) -> None:
        """Commit a turn that cannot commit itself: its prompt and how it ended. Call inside a transaction."""
        live.end_turn(running)
        row.turns += 1
        row.events = max(row.events, last_saved(self.folder, running.token))
        row.updated_at = max(now_ms(), row.updated_at)
        messages = [user_message(running.prompt, running.began_at), notice_message(kind, text, now_ms())]
        self.commit(live, row, self.encode(messages))

    # ---- turns of other processes

    def close_interrupted(self, live: Live, running: RunningRow) -> None:
        """Close a cancelled turn that does not end by itself."""
        with live.transaction():
            self.reload_from_file(live, running.session)
            row = live.session(running.session)
            if row is None or not live.is_current(running):
                return
            self.close_turn(live, row, running, "interrupt", INTERRUPTED if row.archived_at is None else ARCHIVED)
        stop_orphans(running)

    def recover_if_crashed(self, live: Live, session: bytes) -> None:
        """Close a crashed turn, if there is one. Otherwise takes no lock, so that a reader never waits."""
        running = live.running(session)
        if running is not None and not live.is_read_only and not is_alive(live, running.holder):
            with live.transaction():
                self.recover(live, session)


def stop_orphans(running: RunningRow) -> None:
    """Stop the programs of a turn whose process crashed or hangs."""
    pid, _, began = running.child.partition(":")
    if pid and began and start_time(int(pid)) == began:
        stop_group(int(pid))
    stop_detached(running.token.hex())
