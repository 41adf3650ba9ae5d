"""Stores the files that tool calls read, changed, created and deleted."""

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct

from recollect.model import KIND_CODE, Kind
from recollect.observe.file_changes import FileChange
from recollect.store.sqlite.body import decode_arguments, decode_body
from recollect.store.sqlite.database import SqliteDatabase
from recollect.store.sqlite.event_cells import DUPLICATE, FAILED
from recollect.store.sqlite.rows import EVENT, EVENT_FROM, EventRow, event_of

FILES_PENDING = "files_pending"  # the meta row with the last event of an earlier version, which recorded no files
FILES_RECORDED = "files_recorded"  # the meta row with the last of those events whose files are recorded
CALL, RESPONSE = KIND_CODE[Kind.TOOL_CALL], KIND_CODE[Kind.TOOL_RESPONSE]


class StoredCall(Struct, frozen=True):
    """A stored tool call."""

    key: int
    at: int
    tool: str | None
    arguments: dict[str, Any] | None


class StoredResponse(Struct, frozen=True):
    """The stored response to a tool call."""

    text: str
    failed: bool


class FileChanges(SqliteDatabase):
    """The part of the writer that records files."""

    def put_file_changes(self, session: int, call: StoredCall, changes: Sequence[FileChange], *, is_new: bool) -> None:
        """Store the files of a tool call, in place of those of before if it is not new."""
        if not is_new:
            self.db.execute("DELETE FROM file_change WHERE event = ?", (call.key,))
        if not changes:
            return
        self.db.executemany(
            "INSERT OR REPLACE INTO file_change VALUES (?, ?, ?, ?, ?, ?, ?)",
            [
                (call.key, self._path_key(one.path), one.operation, session, call.at, one.added, one.removed)
                for one in changes
            ],
        )

    def knows_path(self, session: int, path: str, before: int) -> bool:
        """Whether an earlier tool call of a session read or changed a file."""
        row = self.db.execute(
            """
            SELECT 1 FROM file_change
             WHERE session = ? AND path = (SELECT key FROM file_path WHERE path = ?) AND event < ? LIMIT 1""",
            (session, path, before),
        ).fetchone()
        return row is not None

    def _path_key(self, path: str) -> int:
        row = self.db.execute("SELECT key FROM file_path WHERE path = ?", (path,)).fetchone()
        row = row or self.db.execute("INSERT INTO file_path (path) VALUES (?) RETURNING key", (path,)).fetchone()
        return int(row[0])

    def stored_call(self, session: int, seq: int) -> StoredCall | None:
        """The tool call at a position of a session. It is in the last turn that begins before it, or in the one before."""
        row = self.db.execute(
            """
            SELECT event.key, event.at, word.text, event.body
              FROM turn CROSS JOIN event ON event.session = turn.session AND event.turn = turn.ordinal
              LEFT JOIN word ON word.key = event.tool
             WHERE turn.session = ? AND turn.last >= ? AND event.seq = ? AND event.kind = ? AND event.flags & ? = 0
             ORDER BY turn.ordinal LIMIT 1""",
            (session, seq, seq, CALL, DUPLICATE),
        ).fetchone()
        return StoredCall(row[0], row[1], row[2], decode_arguments(row[3])) if row else None

    def stored_response(self, session: int, turn: int, seq: int) -> StoredResponse | None:
        """The response to the tool call at a position."""
        row = self.db.execute(
            """
            SELECT body, flags, exit_code FROM event
             WHERE session = ? AND turn >= ? AND kind = ? AND answers = ? ORDER BY turn, seq LIMIT 1""",
            (session, turn, RESPONSE, seq),
        ).fetchone()
        return StoredResponse(decode_body(row[0]), bool(row[1] & FAILED or row[2])) if row else None

    # ---- archives of earlier versions

    def pending_calls(self, chunk: int) -> Iterator[list[tuple[EventRow, str | None]]]:
        """The tool calls of an earlier version whose files are not recorded, with their sessions' folders, in chunks."""
        last = int(self.meta(FILES_PENDING) or 0)
        while rows := self._rows(
            f"""
            SELECT {EVENT}, session.cwd FROM {EVENT_FROM} JOIN session ON session.key = event.session
             WHERE event.key > ? AND event.key <= ? AND event.kind = ? AND event.flags & ? = 0
             ORDER BY event.key LIMIT ?""",
            (int(self.meta(FILES_RECORDED) or 0), last, CALL, DUPLICATE, chunk),
        ):
            yield [(event_of(row[:-1]), row[-1]) for row in rows]

    def pending_count(self) -> int:
        """The number of events of an earlier version that are still to be read for files."""
        return max(0, int(self.meta(FILES_PENDING) or 0) - int(self.meta(FILES_RECORDED) or 0))

    def finish_pending(self) -> None:
        """Note that the files of all events are recorded."""
        self.db.execute("DELETE FROM meta WHERE name IN (?, ?)", (FILES_PENDING, FILES_RECORDED))
