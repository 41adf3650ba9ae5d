"""Stores the files that tool calls read, changed, created and deleted."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from recollect.model import KIND_CODE, FileChange, Kind
from recollect.store.sqlite.body import decode_arguments, decode_body, decoded_size
from recollect.store.sqlite.database import SqliteDatabase
from recollect.store.sqlite.event_cells import DUPLICATE, FAILED

FILES_PENDING = "files_pending"  # the meta row with the last session whose files are not recorded
FILES_RECORDED = "files_recorded"  # the meta row with the last session before it whose files are recorded
MAX_DECODED = 8 << 20  # bytes of arguments: decoding takes twice their size in memory, and no edit is as long
CALL, RESPONSE = KIND_CODE[Kind.TOOL_CALL], KIND_CODE[Kind.TOOL_RESPONSE]
CALL_CELLS = "event.key, event.seq, event.at, word.text, event.body"
CALL_FROM = "event LEFT JOIN word ON word.key = event.tool"


class StoredCall(Struct, frozen=True):
    """A stored tool call."""

    key: int
    seq: int
    at: int
    tool: str | None
    arguments: dict[str, Any] | None  # None if they are too large to be decoded for a response


class StoredResponse(Struct, frozen=True):
    """The stored response to a tool call."""

    text: str
    failed: bool


CallChanges = tuple[StoredCall, Sequence[FileChange]]


class FileChanges(SqliteDatabase):
    """The part of the writer that records files."""

    def put_file_changes(self, session: int, calls: Iterable[CallChanges]) -> None:
        """Store the files of tool calls."""
        found = [(call, one) for call, changes in calls for one in changes]
        if found:
            keys = {path: self._path_key(path) for path in {one.path for _, one in found}}
            rows = [
                (call.key, keys[one.path], one.operation, session, call.at, one.added, one.removed) for call, one in found
            ]
            self.db.executemany("INSERT OR REPLACE INTO file_change VALUES (?, ?, ?, ?, ?, ?, ?)", rows)

    def replace_call_changes(self, session: int, call: StoredCall, changes: Sequence[FileChange]) -> None:
        """Store the files of a tool call in place of those that were stored."""
        paths = self._delete_files("event = ?", (call.key,))
        self.put_file_changes(session, [(call, changes)])
        self._delete_unused(paths)

    def replace_file_changes(self, session: int, calls: Iterable[CallChanges]) -> None:
        """Store the files of all tool calls of a session in place of those that were stored."""
        paths = self._delete_files("session = ?", (session,))
        self.put_file_changes(session, calls)
        self._delete_unused(paths)

    def delete_file_changes(self, where: str, values: tuple[Any, ...]) -> None:
        """Delete the files of events. `where` is a condition on events."""
        self._delete_unused(self._delete_files(f"event IN (SELECT key FROM event WHERE {where})", values))

    def _delete_files(self, where: str, values: tuple[Any, ...]) -> list[tuple[int]]:
        """Delete files. Returns the keys of their paths, which may be unused now."""
        paths = self.db.execute(f"SELECT DISTINCT path FROM file_change WHERE {where}", values).fetchall()
        if paths:
            self.db.execute(f"DELETE FROM file_change WHERE {where}", values)
        return paths

    def _delete_unused(self, paths: list[tuple[int]]) -> None:
        self.db.executemany(
            """
            DELETE FROM file_path
             WHERE key = ? AND NOT EXISTS (SELECT 1 FROM file_change WHERE file_change.path = file_path.key)""",
            paths,
        )

    def _path_key(self, path: str) -> int:
        row = self.db.execute("SELECT key FROM file_path WHERE path = ?", (path,)).fetchone()
        row = row or self.db.execute("INSERT INTO file_path (path) VALUES (?) RETURNING key", (path,)).fetchone()
        return int(row[0])

    # ---- what is stored

    def last_operation(self, session: int, path: str, before: int) -> str | None:
        """What the last tool call before a position did to a file."""
        row = self.db.execute(
            """
            SELECT file_change.operation
              FROM file_change JOIN event ON event.key = file_change.event
             WHERE file_change.session = ? AND file_change.path = (SELECT key FROM file_path WHERE path = ?)
               AND event.seq < ?
             ORDER BY event.seq DESC LIMIT 1""",
            (session, path, before),
        ).fetchone()
        return row[0] if row else None

    def changes_of_call(self, key: int) -> set[FileChange]:
        """The stored files of a tool call."""
        rows = self.db.execute(
            """
            SELECT file_path.path, operation, added, removed
              FROM file_change JOIN file_path ON file_path.key = file_change.path
             WHERE file_change.event = ?""",
            (key,),
        )
        return {FileChange(*row) for row in rows}

    def later_calls(self, session: int, seq: int, paths: Iterable[str]) -> list[StoredCall]:
        """The tool calls after a position that touch one of these files, in order."""
        rows = self.db.execute(
            f"""
            SELECT DISTINCT {CALL_CELLS}
              FROM file_change JOIN event ON event.key = file_change.event LEFT JOIN word ON word.key = event.tool
             WHERE file_change.session = ? AND event.seq > ?
               AND file_change.path IN (SELECT key FROM file_path WHERE path IN (SELECT value FROM json_each(?)))
             ORDER BY event.seq""",
            (session, seq, msgspec.json.encode(sorted(paths)).decode()),
        ).fetchall()
        return [_call(row) for row in rows]

    def stored_call(self, session: int, seq: int, max_decoded: int | None = MAX_DECODED) -> StoredCall | None:
        """The tool call at a position of a session. It is in the last turn that begins before it, or in the one before."""
        row = self.db.execute(
            f"""
            SELECT {CALL_CELLS}
              FROM turn CROSS JOIN {CALL_FROM}
             WHERE event.session = turn.session AND event.turn = turn.ordinal
               AND turn.session = ? AND turn.last >= ? AND event.seq = ? AND event.kind = ? AND event.flags & ? = 0
             ORDER BY turn.ordinal LIMIT 1""",
            (session, seq, seq, CALL, DUPLICATE),
        ).fetchone()
        if row is None:
            return None
        return _call(row, max_decoded)

    def stored_calls(self, session: int, max_decoded: int | None = None) -> Iterator[StoredCall]:
        """All tool calls of a session, in order."""
        rows = self.db.execute(
            f"""
            SELECT {CALL_CELLS} FROM {CALL_FROM}
             WHERE event.session = ? AND event.kind = ? AND event.flags & ? = 0 ORDER BY event.turn, event.seq""",
            (session, CALL, DUPLICATE),
        )
        return (_call(row, max_decoded) for row in rows)

    def response_tools(self, session: int) -> list[str]:
        """The tools of a session's responses."""
        rows = self.db.execute(
            """
            SELECT DISTINCT word.text
              FROM session_count JOIN word ON word.key = session_count.tool
             WHERE session_count.session = ? AND session_count.kind = ?""",
            (session, RESPONSE),
        )
        return [tool for (tool,) in rows]

    def has_response(self, session: int, tools: Iterable[str], before: int | None = None) -> bool:
        """Whether a session has a response to a call of one of these tools, before a key. Reads from the session's end."""
        row = self.db.execute(
            """
            SELECT 1 FROM event
             WHERE session = ? AND kind = ? AND answers IS NOT NULL AND key < coalesce(?, key + 1)
               AND tool IN (SELECT key FROM word WHERE text IN (SELECT value FROM json_each(?)))
             ORDER BY turn DESC, seq DESC LIMIT 1""",
            (session, RESPONSE, before, msgspec.json.encode([*tools]).decode()),
        ).fetchone()
        return row is not None

    def response_keys(self, session: int) -> dict[int, int]:
        """The keys of all responses in a session, by the position of their call."""
        return dict(
            self.db.execute(
                "SELECT answers, key FROM event WHERE session = ? AND kind = ? AND flags & ? = 0",
                (session, RESPONSE, DUPLICATE),
            )
        )

    def response_of_key(self, key: int) -> StoredResponse:
        body, flags, exit_code = self.db.execute("SELECT body, flags, exit_code FROM event WHERE key = ?", (key,)).fetchone()
        return StoredResponse(decode_body(body), bool(flags & FAILED or exit_code))

    # ---- sessions of earlier versions

    def sessions_without_files(self, limit: int) -> list[tuple[int, str | None]]:
        """(key, folder) of the next sessions whose files are not recorded, because an earlier version stored them."""
        return self._rows(
            """
            SELECT key, cwd FROM session
             WHERE key > coalesce((SELECT CAST(value AS INTEGER) FROM meta WHERE name = ?), 0)
               AND key <= (SELECT CAST(value AS INTEGER) FROM meta WHERE name = ?)
             ORDER BY key LIMIT ?""",
            (FILES_RECORDED, FILES_PENDING, limit),
        )

    def files_are_recorded(self, session: int) -> None:
        """Note that the files of all sessions up to this one are recorded."""
        last = int(self.meta(FILES_PENDING) or 0)
        if session >= last:
            self.db.execute("DELETE FROM meta WHERE name IN (?, ?)", (FILES_PENDING, FILES_RECORDED))
        else:
            self.put_meta(FILES_RECORDED, str(session))

    def files_are_missing(self, first: int, last: int) -> None:
        """Note that the files of these sessions are not recorded. The next sync records them."""
        if self.meta(FILES_PENDING) is None:
            self.put_meta(FILES_RECORDED, str(first - 1))
        self.put_meta(FILES_PENDING, str(last))


def _call(row: tuple[int, int, int, str | None, str | bytes], max_decoded: int | None = None) -> StoredCall:
    key, seq, at, tool, body = row
    is_decoded = max_decoded is None or decoded_size(body) <= max_decoded
    return StoredCall(key, seq, at, tool, decode_arguments(body) if is_decoded else None)
