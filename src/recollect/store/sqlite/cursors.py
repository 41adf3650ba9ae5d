"""Stores cursors, which say how far each log was read."""

from typing import Any

import msgspec
from msgspec import Struct

from recollect.store.sqlite.tombstones import Tombstones, hidden_path


class Cursor(Struct, kw_only=True):
    """How far a log was read. `state` has the source's state and the folds in progress, to continue reading."""

    path: str
    source: str
    session: bytes | None = None
    size: int = 0
    mtime_ns: int = 0
    inode: int = 0
    offset: int = 0
    line: int = 0
    crc: int = 0
    state: bytes | None = None
    tally: dict[str, int] = {}


class Cursors(Tombstones):
    """The part of the writer that stores how far each log was read."""

    def cursors(self) -> dict[str, tuple[int, int, int]]:
        """(size, mtime, inode) of every log when it was last read, by path."""
        rows = self.db.execute("SELECT path, size, mtime_ns, inode FROM cursor")
        return {path: (size, mtime, inode) for path, size, mtime, inode in rows}

    def cursor(self, path: str) -> Cursor | None:
        return self._cursor("path = ?", path)

    def cursor_of_session(self, session: bytes, other_than: str) -> Cursor | None:
        """The cursor of another log with this session."""
        return self._cursor("session = ? AND path <> ? ORDER BY offset DESC", session, other_than)

    def _cursor(self, where: str, *values: Any) -> Cursor | None:
        row = self.db.execute(
            f"""
            SELECT path, source, session, size, mtime_ns, inode, offset, line, crc, state, tally
              FROM cursor
             WHERE {where}""",
            values,
        ).fetchone()
        if row is None:
            return None
        *fields, tally = row
        names = Cursor.__struct_fields__[:-1]
        return Cursor(**dict(zip(names, fields, strict=True)), tally=msgspec.json.decode(tally))

    def put_cursor(self, cursor: Cursor) -> None:
        if self.has_tombstones:
            self.drop_cursor(hidden_path(cursor.path))
        self.db.execute(
            "INSERT OR REPLACE INTO cursor VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                cursor.path,
                cursor.source,
                cursor.session,
                cursor.size,
                cursor.mtime_ns,
                cursor.inode,
                cursor.offset,
                cursor.line,
                cursor.crc,
                cursor.state,
                msgspec.json.encode(cursor.tally).decode(),
            ),
        )

    def drop_cursor(self, path: str) -> None:
        self.db.execute("DELETE FROM cursor WHERE path = ?", (path,))

    # ---- logs in which everything is forgotten

    def put_hidden_cursor(self, cursor: Cursor) -> None:
        """Note that a log has nothing but forgotten sessions, without its path. Only its size and date are stored."""
        self.drop_cursor(cursor.path)
        tally = {"noise: forgotten log": 1}
        self.put_cursor(
            Cursor(
                path=hidden_path(cursor.path),
                source=cursor.source,
                size=cursor.size,
                mtime_ns=cursor.mtime_ns,
                inode=cursor.inode,
                offset=cursor.size,
                tally=tally,
            )
        )

    def hide_cursor(self, path: str) -> None:
        """Remove the path of a forgotten log from its cursor."""
        cursor = self.cursor(path)
        if cursor is not None:
            self.put_hidden_cursor(cursor)
