"""The one writer of an archive: batches of events with the cursors that vouch for them, in one transaction each."""

import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from recollect.model import KIND_CODE, Event, Problem, Session, SessionMetadata, Turn, path_text
from recollect.store.sqlite.body import packed, unpacked
from recollect.store.sqlite.database import fault
from recollect.store.sqlite.duplicates import DuplicateTurns
from recollect.store.sqlite.event_cells import ESTIMATED, FAILED, OWN, EventCells, as_json, turn_row
from recollect.store.sqlite.folders import WorkingFolders
from recollect.store.sqlite.rewritten import ASK, CELLS, RewrittenSessions
from recollect.store.sqlite.shared_logs import SharedLogs

PUBLISHED = "live"  # the meta row that tells up to which change of the live sessions the archive is level


class Cursor(Struct, kw_only=True):
    """How far a log has been read. `state` is the reader's memory and the folds under way."""

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


class Writer(RewrittenSessions, DuplicateTurns, SharedLogs, WorkingFolders):
    """Opened by whoever holds the realm's lock."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, writable=True)
        self.remember()

    def remember(self) -> None:
        """Load what is kept in memory: few rows, asked for with every event. To be done again after a rollback."""
        self._words: dict[str, int] = dict(self.db.execute("SELECT text, key FROM word"))
        self._named: set[bytes] = {event for (event,) in self.db.execute("SELECT event FROM named")}
        self._private: set[bytes] = {session for (session,) in self.db.execute("SELECT session FROM private")}
        self.remember_shared()
        self._told: dict[bytes, dict[str, SessionMetadata]] = {}
        for session, path, about in self.db.execute("SELECT session, path, about FROM about"):
            self._told.setdefault(session, {})[path] = msgspec.json.decode(about, type=SessionMetadata)

    # ---- cursors

    def cursors(self) -> dict[str, tuple[int, int, int]]:
        """(size, mtime, inode) of every log as it was when last read: what tells an unchanged file at a glance."""
        rows = self.db.execute("SELECT path, size, mtime_ns, inode FROM cursor")
        return {path: (size, mtime, inode) for path, size, mtime, inode in rows}

    def cursor(self, path: str) -> Cursor | None:
        return self._cursor("path = ?", path)

    def cursor_of(self, session: bytes, other_than: str) -> Cursor | None:
        """The log that a session was read from, when it is another one."""
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

    def drop_cursors(self, kept: Sequence[Cursor] = ()) -> None:
        """Forget how far every log was read, so that the next sync reads them all again.

        Of the logs whose cursors are `kept`, what they told before is still known.
        """
        with self.transaction():
            self.db.execute("DELETE FROM cursor")
            for cursor in kept:
                self.put_cursor(msgspec.structs.replace(cursor, session=None, size=-1))
            self.db.execute("DELETE FROM meta WHERE name = ?", (PUBLISHED,))
            self.db.execute("DELETE FROM private")
            self._private.clear()

    # ---- events

    def known(self, ids: Sequence[bytes]) -> dict[bytes, tuple[bytes, int]]:
        """Which of these events are here already: in which session, and at which place of it."""
        found: dict[bytes, tuple[bytes, int]] = {}
        for start in range(0, len(ids), ASK):
            part = ids[start : start + ASK]
            rows = self.db.execute(
                f"""
                SELECT event.id, session.id, event.seq
                  FROM event JOIN session ON session.key = event.session
                 WHERE event.id IN ({",".join("?" * len(part))})""",
                part,
            )
            found.update({event: (session, seq) for event, session, seq in rows})
        return found

    def content(self, event: bytes) -> tuple[int, str]:
        """(kind, body) of an event: what tells a copy of it from a namesake."""
        kind, body = self.db.execute("SELECT kind, body FROM event WHERE id = ?", (event,)).fetchone()
        return kind, unpacked(body)

    def put_session(self, session: Session) -> int:
        """Store what is known of a session now. A title never gives way to one of a lower rank."""
        row = self.db.execute(
            """
            INSERT INTO session (id, source, native_id, path, title, title_rank, started_at, updated_at,
                                 completed, turn_count, event_count, mode, cwd, branch, project, model, usage, redactions,
                                 estimated)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            ON CONFLICT (id) DO UPDATE SET
                path = excluded.path,
                title = CASE WHEN excluded.title_rank >= title_rank THEN excluded.title ELSE title END,
                title_rank = max(excluded.title_rank, title_rank),
                started_at = excluded.started_at, updated_at = excluded.updated_at,
                completed = excluded.completed, turn_count = excluded.turn_count, event_count = excluded.event_count,
                mode = excluded.mode, cwd = excluded.cwd, branch = excluded.branch, project = excluded.project,
                model = excluded.model, usage = excluded.usage, redactions = excluded.redactions,
                estimated = excluded.estimated
            RETURNING key""",
            (
                session.id,
                session.source,
                session.native_id,
                session.path,
                session.title,
                session.title_rank,
                session.started_at,
                session.updated_at,
                session.completed,
                session.turn_count,
                session.event_count,
                session.mode,
                session.cwd,
                session.branch,
                session.project,
                session.model,
                as_json(session.usage),
                as_json(session.redactions),
                session.estimated,
            ),
        ).fetchone()
        return int(row[0])

    def path_and_size(self, session: bytes) -> tuple[str, int] | None:
        """The log that a session was read from last, and how many events it has."""
        row: tuple[str, int] | None = self.db.execute(
            "SELECT path, event_count FROM session WHERE id = ?", (session,)
        ).fetchone()
        return row

    def told(self, session: bytes, other_than: str) -> list[SessionMetadata]:
        """What other logs say of a session."""
        return [about for path, about in self._told.get(session, {}).items() if path != other_than]

    def put_about(self, session: bytes, path: str, about: SessionMetadata, project: str | None) -> None:
        """Keep what a log says of a session that is told elsewhere, now or later."""
        self._told.setdefault(session, {})[path] = about
        self.db.execute("INSERT OR REPLACE INTO about VALUES (?, ?, ?)", (session, path, as_json(about)))
        self.db.execute(
            """
            UPDATE session
               SET title = CASE WHEN :title <> '' AND :rank >= title_rank THEN :title ELSE title END,
                   title_rank = CASE WHEN :title <> '' THEN max(:rank, title_rank) ELSE title_rank END,
                   cwd = coalesce(cwd, :cwd), project = coalesce(project, :project),
                   branch = coalesce(branch, :branch), model = coalesce(model, :model)
             WHERE id = :session""",
            {
                "session": session,
                "title": about.title or "",
                "rank": about.title_rank,
                "cwd": about.cwd,
                "project": project,
                "branch": about.branch,
                "model": about.model,
            },
        )

    def replace_turns(self, session: int, turns: list[Turn]) -> None:
        """Make these all the turns of a session."""
        self.db.execute("DELETE FROM turn WHERE session = ? AND ordinal > ?", (session, len(turns)))
        stored = set(self.db.execute("SELECT * FROM turn WHERE session = ?", (session,)))
        self._put_turns([row for turn in turns if (row := turn_row(session, turn)) not in stored])

    def put_turns(self, session: int, turns: Iterable[Turn]) -> None:
        self._put_turns([turn_row(session, turn) for turn in turns])

    def _put_turns(self, rows: list[tuple[Any, ...]]) -> None:
        self.db.executemany("INSERT OR REPLACE INTO turn VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)

    def stored(self, session: bytes) -> dict[bytes, EventCells]:
        """Every event of a session as it lies in the archive, by its id."""
        rows = self.db.execute(
            f"""
            SELECT {CELLS}
              FROM event
             WHERE session = (SELECT key FROM session WHERE id = ?)""",
            (session,),
        )
        return {row[0]: EventCells._make(row) for row in rows}

    def row(self, session: int, event: Event) -> EventCells:
        """An event as it will lie in the archive."""
        return EventCells(
            event.id,
            session,
            event.turn,
            event.seq,
            KIND_CODE[event.kind],
            event.at,
            event.line,
            event.failed * FAILED + event.own * OWN + event.estimated * ESTIMATED,
            self._word(event.tool),
            self._word(event.model),
            event.answers,
            event.exit_code,
            as_json(event.usage) if event.usage else None,
            packed(event),
        )

    def put_events(self, session: int, events: list[Event]) -> int:
        """Add events; the key of the first. Their keys follow one another in the order given."""
        rows = [self.row(session, event) for event in events]
        self.db.executemany(
            f"""
            INSERT INTO event ({CELLS})
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)""",
            rows,
        )
        for event in events:
            if event.id in self._named:
                self._name_session(event.id)
        return self.last_key() - len(rows) + 1

    def remove_events(self, ids: Sequence[bytes]) -> None:
        self.db.executemany("INSERT OR IGNORE INTO gone SELECT key FROM event WHERE id = ?", [(event,) for event in ids])
        self.db.executemany("DELETE FROM event WHERE id = ?", [(event,) for event in ids])

    def empty_session(self, session: bytes, log: str) -> None:
        """Take everything out of a session whose log was rewritten, and of the sub-agents read from that same log."""
        for (key,) in self.db.execute(
            """
            SELECT session.key
              FROM session LEFT JOIN link ON link.child = session.id
             WHERE session.id = :id
                OR (link.parent = :id AND session.path = :log)""",
            {"id": session, "log": log},
        ).fetchall():
            self.db.execute("INSERT OR IGNORE INTO gone SELECT key FROM event WHERE session = ?", (key,))
            self.db.execute("DELETE FROM event WHERE session = ?", (key,))
            self.db.execute("DELETE FROM turn WHERE session = ?", (key,))
            self.db.execute(
                "UPDATE session SET title = '', title_rank = 0, event_count = 0, turn_count = 0 WHERE key = ?", (key,)
            )

    # ---- what may not be kept

    def forget(self, session: bytes, path: str) -> None:
        """Keep nothing of a session, nor of what is said of it."""
        self.db.execute("DELETE FROM earlier WHERE session = ?", (session,))
        self.db.execute("DELETE FROM about WHERE session = ?", (session,))
        self._told.pop(session, None)
        self.db.execute(
            """
            DELETE FROM named
             WHERE event IN (SELECT event.id FROM event JOIN session ON session.key = event.session WHERE session.id = ?)""",
            (session,),
        )
        self.empty_session(session, path)

    def make_private(self, session: bytes) -> None:
        """Keep nothing of a session, nor of the sub-agents below it, now or later."""
        below = self.db.execute(
            """
            WITH RECURSIVE family (id) AS (SELECT ? UNION SELECT link.child FROM link JOIN family ON link.parent = family.id)
            SELECT family.id, coalesce(session.path, '') FROM family LEFT JOIN session ON session.id = family.id""",
            (session,),
        ).fetchall()
        for identity, path in below:
            self._private.add(identity)
            self.db.execute("INSERT OR IGNORE INTO private VALUES (?)", (identity,))
            self.forget(identity, path)

    def is_private(self, session: bytes) -> bool:
        return session in self._private

    def make_public(self, session: bytes) -> None:
        """A session that was read without anything in it that forbids to keep it."""
        if session in self._private:
            self._private.discard(session)
            self.db.execute("DELETE FROM private WHERE session = ?", (session,))

    def places(self) -> list[tuple[bytes, str | None, str, str | None]]:
        """(id, working folder, log, project) of every session that has something in it."""
        return self.db.execute("SELECT id, cwd, path, project FROM session WHERE event_count > 0").fetchall()

    def put_link(self, child: bytes, parent: bytes, call: str | None) -> None:
        self.db.execute(
            """
            INSERT INTO link VALUES (?, ?, ?)
            ON CONFLICT (child) DO UPDATE SET call = coalesce(excluded.call, call)""",
            (child, parent, call),
        )

    def put_title(self, event: bytes, title: str, rank: int) -> None:
        """Name the session that holds an event, now or once the event is there."""
        self.db.execute("INSERT OR REPLACE INTO named VALUES (?, ?, ?)", (event, title, rank))
        self._named.add(event)
        self._name_session(event)

    def name_again(self, session: bytes) -> None:
        """Give a session whose title was reset the titles that name its events."""
        if self._named:
            rows = self.db.execute(
                """
                SELECT event.id
                  FROM named JOIN event ON event.id = named.event
                 WHERE event.session = (SELECT key FROM session WHERE id = ?)""",
                (session,),
            )
            for (event,) in rows.fetchall():
                self._name_session(event)

    def _name_session(self, event: bytes) -> None:
        """Give the session of an event the title that was meant for it, unless it has a better one."""
        self.db.execute(
            """
            UPDATE session SET title = named.title, title_rank = named.rank
              FROM named
             WHERE named.event = :event AND title_rank <= named.rank
               AND session.key = (SELECT session FROM event WHERE id = :event)""",
            {"event": event},
        )

    def put_problems(self, source: str, problems: Iterable[Problem]) -> None:
        self.db.executemany(
            "INSERT OR REPLACE INTO problem VALUES (?, ?, ?, ?, ?)",
            [(path_text(item.path), item.line, source, item.reason, item.excerpt) for item in problems],
        )

    def drop_problems(self, path: str, after: int = -1) -> None:
        """Forget what was wrong with a log, or with its lines after this one."""
        self.db.execute("DELETE FROM problem WHERE path = ? AND line > ?", (path, after))

    def _word(self, text: str | None) -> int | None:
        if text is None:
            return None
        key = self._words.get(text)
        if key is None:
            (key,) = self.db.execute("INSERT INTO word (text) VALUES (?) RETURNING key", (text,)).fetchone()
            self._words[text] = key
        return key

    # ---- what an index has taken over

    def identity(self) -> str:
        return self.meta("identity") or ""

    def watermark(self) -> int:
        return int(self.meta("indexed") or 0)

    def gone(self) -> list[int]:
        return [key for (key,) in self.db.execute("SELECT key FROM gone")]

    def put_watermark(self, key: int, gone: list[int]) -> None:
        with self.transaction():
            self.put_meta("indexed", str(key))
            self.db.executemany("DELETE FROM gone WHERE key = ?", [(removed,) for removed in gone])

    def checkpoint(self) -> None:
        """Fold the write-ahead log back into the archive, as far as readers allow."""
        try:
            self.db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        except sqlite3.Error as reason:
            raise fault(reason, self.path) from reason
