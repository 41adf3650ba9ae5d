"""What is committed of a realm's live sessions, and closing what crashed: the part that every process must do alike."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from recollect.errors import SessionNotFound, StoreFault
from recollect.live.event_sequence import counted
from recollect.live.transcript_builder import asked, bodies_of, notice
from recollect.model import now_ms
from recollect.processes import began, stop_group, stop_strays
from recollect.realms.leases import is_alive
from recollect.realms.manifest import Backend
from recollect.redact import redact
from recollect.store.live import Live, LiveRow, Message, RunningRow, live_of
from recollect.store.sqlite.database import file_at
from recollect.store.transcripts import Transcripts

INTERRUPTED = "The turn was interrupted."
ARCHIVED = "The session was archived while this turn ran."
CRASHED = "The process that ran this turn ended without finishing it."


class CommittedSessions:
    """The database of a realm's live sessions, for all threads of a process, and the files beside it where there are any."""

    def __init__(self, folder: Path, backend: Backend, *, redact: bool) -> None:
        self.folder = folder
        self._files = Transcripts(folder) if backend is Backend.JSONL else None
        self._redact = redact
        self._local = threading.local()
        self._leveling = threading.Lock()
        self._leveled: Live | None = None  # compared with the files last; kept open, so that no other file is taken for it

    @contextmanager
    def opened(self) -> Iterator[Live]:
        """This thread's connection; a broken one is not kept."""
        live: Live | None = getattr(self._local, "live", None)
        if live is None or live.file != file_at(live.path) or live.is_outdated():  # another file took its place
            live = self._local.live = Live(self.folder)
        self._level(live)
        try:
            yield live
            live.check_unchanged()
        except StoreFault:
            self._local.live = None
            raise
        finally:
            live.stop_when(None)

    def _level(self, live: Live) -> None:
        """Where files are the truth, a database that is new here says what they do."""
        if self._files is None or live.is_read_only or (self._leveled is not None and self._leveled.file == live.file):
            return
        with self._leveling:
            with live.transaction():
                self._files.level(live)
            self._leveled = live

    def changes(self) -> int:
        """Grows with whatever is committed here; 0 where nothing ever was."""
        if not live_of(self.folder).exists() and (self._files is None or not self._files.are_there()):
            return 0
        with self.opened() as live:
            return live.changes()

    @contextmanager
    def settled(self, live: Live, session: bytes, *, durable: bool = False) -> Iterator[LiveRow]:
        """A transaction over a session that is here, with no crashed turn in it. Raises `NoSession` where there is none.

        What was learned on the way stays learned either way: that it is archived, say.
        """
        absent: SessionNotFound | None = None
        with live.transaction(durable=durable):
            self.settle(live, session)
            try:
                row = live.present(session)
            except SessionNotFound as reason:
                absent = reason
            else:
                yield row
        if absent is not None:
            raise absent

    def without_secrets(self, text: str) -> str:
        return redact(text) if self._redact else text

    def bodies(self, messages: list[Message]) -> list[bytes]:
        """Messages as they are kept."""
        return bodies_of(messages, redact=self._redact)

    # ---- inside a transaction

    def put(self, live: Live, row: LiveRow, bodies: list[bytes], *, durable: bool = False) -> None:
        """Commit a session with more messages: into its file first, where that is the truth."""
        if self._files is not None:
            row.messages += len(bodies)
            self._files.append(row, bodies, durable=durable)
            row.messages -= len(bodies)
        live.append(row, bodies)
        live.put(row)

    def level_one(self, live: Live, session: bytes) -> None:
        """Where files are the truth, what a session's file says. To be called inside a transaction."""
        if self._files is not None:
            self._files.level_one(live, session)

    def settle(self, live: Live, session: bytes) -> None:
        """Close a turn that crashed, so that its session is usable again. To be called inside a transaction."""
        self.level_one(live, session)
        running, row = live.running(session), live.session(session)
        if running is None or row is None:
            return
        if row.archived_at is not None:  # as its file says; whoever wrote that may have had no time left for the database
            live.cancel(session)
        if is_alive(live, running.holder):
            return
        if row.turns >= running.turn:  # it was committed to its file, and only the database had no time left
            live.end(running)
        else:
            self.close(live, row, running, "crash", CRASHED)
        threading.Thread(target=end_orphans, args=(running,)).start()  # which the process waits for before it ends

    def close(self, live: Live, row: LiveRow, running: RunningRow, kind: str, text: str) -> None:
        """Commit a turn that cannot do so itself: what was asked, and how it ended. To be called inside a transaction."""
        live.end(running)
        row.turns += 1
        row.events = max(row.events, counted(self.folder, running.token))
        row.updated_at = max(now_ms(), row.updated_at)
        said = [asked(running.prompt, running.began_at), notice(kind, text, now_ms())]
        self.put(live, row, self.bodies(said))

    # ---- turns of other processes

    def take_over(self, live: Live, running: RunningRow) -> None:
        """End a turn that was cancelled and does not end."""
        with live.transaction():
            self.level_one(live, running.session)
            row = live.session(running.session)
            if row is None or not live.holds(running):
                return
            self.close(live, row, running, "interrupt", INTERRUPTED if row.archived_at is None else ARCHIVED)
        end_orphans(running)

    def look_after(self, live: Live, session: bytes) -> None:
        """Close a turn that crashed, where there is one; a reader waits for nobody otherwise."""
        running = live.running(session)
        if running is not None and not live.is_read_only and not is_alive(live, running.holder):
            with live.transaction():
                self.settle(live, session)


def end_orphans(running: RunningRow) -> None:
    """End what a process that crashed, or hangs, has left running."""
    pid, _, start = running.child.partition(":")
    if pid and start and began(int(pid)) == start:
        stop_group(int(pid))
    stop_strays(running.token.hex())
