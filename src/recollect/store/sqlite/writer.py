"""The writer of an archive. It stores a batch of events and the cursor after it in one transaction."""

import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from recollect.model import KIND_CODE, Event, Problem, Session, SessionMetadata, Turn, path_text
from recollect.store.sqlite.body import decode_body, encode_body
from recollect.store.sqlite.cursors import Cursor
from recollect.store.sqlite.database import MAX_PARAMETERS, store_fault
from recollect.store.sqlite.duplicates import DuplicateTurns
from recollect.store.sqlite.erase import ErasedSessions
from recollect.store.sqlite.event_cells import (
    CELLS,
    DUPLICATE,
    ESTIMATED,
    FAILED,
    OWN,
    EventCells,
    as_json,
    turn_row,
    usage_json,
)
from recollect.store.sqlite.folders import WorkingFolders
from recollect.store.sqlite.rewritten import RewrittenSessions

PUBLISHED = "published"  # the meta row with the last change of the live sessions that the archive has


class Writer(RewrittenSessions, DuplicateTurns, ErasedSessions, WorkingFolders):
    """The archive opened for writing. Hold the realm's write lock to open it."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, writable=True)
        self.load_tombstones()
        self.load_caches()

    def load_caches(self) -> None:
        """Load the small tables that every event needs. Call it again after a rollback."""
        self._words: dict[str, int] = dict(self.db.execute("SELECT text, key FROM word"))
        self._titled_events: set[bytes] = {event for (event,) in self.db.execute("SELECT event FROM event_title")}
        self._private: set[bytes] = {session for (session,) in self.db.execute("SELECT session FROM private_session")}
        self.load_overlaps()
        self._metadata: dict[bytes, dict[str, SessionMetadata]] = {}
        for session, path, metadata in self.db.execute("SELECT session, path, metadata FROM session_metadata"):
            self._metadata.setdefault(session, {})[path] = msgspec.json.decode(metadata, type=SessionMetadata)

    def drop_cursors(self, keep_state_of: Sequence[Cursor] = ()) -> None:
        """Drop all cursors, so that the next sync reads every log from its start.

        The logs of `keep_state_of` are read again too, but compared with what they held before.
        """
        with self.transaction():
            self.db.execute("DELETE FROM cursor")
            for cursor in keep_state_of:
                self.put_cursor(msgspec.structs.replace(cursor, session=None, size=-1))
            self.db.execute("DELETE FROM meta WHERE name = ?", (PUBLISHED,))
            self.db.execute("DELETE FROM private_session")
            self._private.clear()

    # ---- events

    def locate_events(self, ids: Sequence[bytes]) -> dict[bytes, tuple[bytes, int]]:
        """(session, seq) of the stored events that have one of these ids, by id."""
        positions: dict[bytes, tuple[bytes, int]] = {}
        for start in range(0, len(ids), MAX_PARAMETERS):
            part = ids[start : start + MAX_PARAMETERS]
            rows = self.db.execute(
                f"""
                SELECT event.id, session.id, event.seq
                  FROM event JOIN session ON session.key = event.session
                 WHERE event.id IN ({",".join("?" * len(part))})""",
                part,
            )
            positions.update({event: (session, seq) for event, session, seq in rows})
        return positions

    def kind_and_text(self, event: bytes) -> tuple[int, str]:
        """(kind, text) of an event, to distinguish a copy from another event with the same id."""
        kind, body = self.db.execute("SELECT kind, body FROM event WHERE id = ?", (event,)).fetchone()
        return kind, decode_body(body)

    def put_session(self, session: Session) -> int:
        """Store a session. Returns its key. A title of a lower rank never replaces the stored title."""
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
                usage_json(session.usage),
                as_json(session.redactions),
                session.estimated,
            ),
        ).fetchone()
        return int(row[0])

    def path_and_size(self, session: bytes) -> tuple[str, int] | None:
        """The log that a session was last read from, and its number of events."""
        row: tuple[str, int] | None = self.db.execute(
            "SELECT path, event_count FROM session WHERE id = ?", (session,)
        ).fetchone()
        return row

    def key_and_folder(self, session: bytes) -> tuple[int, str | None] | None:
        """The key and the working folder of a stored session."""
        row: tuple[int, str | None] | None = self.db.execute(
            "SELECT key, cwd FROM session WHERE id = ?", (session,)
        ).fetchone()
        return row

    def metadata_from_other_logs(self, session: bytes, other_than: str) -> list[SessionMetadata]:
        """The metadata of a session that other logs state."""
        return [metadata for path, metadata in self._metadata.get(session, {}).items() if path != other_than]

    def put_metadata(self, session: bytes, path: str, metadata: SessionMetadata, project: str | None) -> None:
        """Store a log's metadata of a session that another log holds, now or later."""
        self._metadata.setdefault(session, {})[path] = metadata
        self.db.execute("INSERT OR REPLACE INTO session_metadata VALUES (?, ?, ?)", (session, path, as_json(metadata)))
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
                "title": metadata.title or "",
                "rank": metadata.title_rank,
                "cwd": metadata.cwd,
                "project": project,
                "branch": metadata.branch,
                "model": metadata.model,
            },
        )

    def replace_turns(self, session: int, turns: list[Turn]) -> None:
        """Replace all turns of a session."""
        self.db.execute("DELETE FROM turn WHERE session = ? AND ordinal > ?", (session, len(turns)))
        stored = set(self.db.execute("SELECT * FROM turn WHERE session = ?", (session,)))
        self._put_turns([row for turn in turns if (row := turn_row(session, turn)) not in stored])

    def put_turns(self, session: int, turns: Iterable[Turn]) -> None:
        self._put_turns([turn_row(session, turn) for turn in turns])

    def _put_turns(self, rows: list[tuple[Any, ...]]) -> None:
        self.db.executemany("INSERT OR REPLACE INTO turn VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)

    def all_stored_events(self, session: bytes) -> dict[bytes, EventCells]:
        """All stored events of a session, by id."""
        rows = self.db.execute(
            f"""
            SELECT {CELLS}
              FROM event
             WHERE session = (SELECT key FROM session WHERE id = ?)""",
            (session,),
        )
        return {row[0]: EventCells._make(row) for row in rows}

    def encode_event(self, session: int, event: Event) -> EventCells:
        """The row of an event."""
        return EventCells(
            event.id,
            session,
            event.turn,
            event.seq,
            KIND_CODE[event.kind],
            event.at,
            event.line,
            _flags(event),
            self._word(event.tool),
            self._word(event.model),
            event.answers,
            event.exit_code,
            usage_json(event.usage) if event.usage else None,
            encode_body(event),
        )

    def put_events(self, session: int, events: list[Event]) -> int:
        """Add events. Returns the key of the first event. The others have the next keys, without a gap."""
        self.insert_events([self.encode_event(session, event) for event in events])
        for event in events:
            if event.id in self._titled_events:
                self._apply_event_title(event.id)
        return self.last_key() - len(events) + 1

    def remove_events(self, ids: Iterable[bytes]) -> None:
        removed = list(ids)
        for start in range(0, len(removed), MAX_PARAMETERS):
            part = removed[start : start + MAX_PARAMETERS]
            self.delete_events(f"id IN ({','.join('?' * len(part))})", tuple(part))

    def empty_session(self, session: bytes, log: str) -> None:
        """Remove all events of a session, and of the sub-agents that were read from the same log."""
        for (key,) in self.db.execute(
            """
            SELECT session.key
              FROM session LEFT JOIN link ON link.child = session.id
             WHERE session.id = :id
                OR (link.parent = :id AND session.path = :log)""",
            {"id": session, "log": log},
        ).fetchall():
            self.delete_events("session = ?", (key,))
            self.db.execute("DELETE FROM turn WHERE session = ?", (key,))
            self.db.execute(
                "UPDATE session SET title = '', title_rank = 0, event_count = 0, turn_count = 0 WHERE key = ?", (key,)
            )

    # ---- sessions that must not be stored

    def forget_session(self, session: bytes, path: str) -> None:
        """Remove all events of a session, and the metadata that other logs state about it."""
        self.db.execute("DELETE FROM session_prefix WHERE session = ?", (session,))
        self.db.execute("DELETE FROM session_metadata WHERE session = ?", (session,))
        self._metadata.pop(session, None)
        self.db.execute(
            """
            DELETE FROM event_title
             WHERE event IN (SELECT event.id FROM event JOIN session ON session.key = event.session WHERE session.id = ?)""",
            (session,),
        )
        self.empty_session(session, path)

    def make_private(self, session: bytes) -> None:
        """Remove a session and the sub-agents below it, and never store them again."""
        sessions = self.db.execute(
            """
            WITH RECURSIVE family (id) AS (SELECT ? UNION SELECT link.child FROM link JOIN family ON link.parent = family.id)
            SELECT family.id, coalesce(session.path, '') FROM family LEFT JOIN session ON session.id = family.id""",
            (session,),
        ).fetchall()
        for identity, path in sessions:
            self._private.add(identity)
            self.db.execute("INSERT OR IGNORE INTO private_session VALUES (?)", (identity,))
            self.forget_session(identity, path)

    def is_private(self, session: bytes) -> bool:
        return session in self._private

    def make_public(self, session: bytes) -> None:
        """Allow to store a session again, because its log no longer says that it is private."""
        if session in self._private:
            self._private.discard(session)
            self.db.execute("DELETE FROM private_session WHERE session = ?", (session,))

    def session_locations(self) -> list[tuple[bytes, str | None, str, str | None]]:
        """(id, working folder, log, project) of every session that has events."""
        return self.db.execute("SELECT id, cwd, path, project FROM session WHERE event_count > 0").fetchall()

    def session_title(self, session: bytes) -> str | None:
        row = self.db.execute("SELECT title FROM session WHERE id = ? AND title <> ''", (session,)).fetchone()
        return row[0] if row else None

    def put_link(self, child: bytes, parent: bytes, call: str | None, *, is_fork: bool = False) -> None:
        self.db.execute(
            """
            INSERT INTO link (child, parent, call, is_fork) VALUES (?, ?, ?, ?)
            ON CONFLICT (child) DO UPDATE SET
                call = coalesce(excluded.call, call), is_fork = min(excluded.is_fork, is_fork)""",
            (child, parent, call, is_fork),
        )

    def put_event_title(self, event: bytes, title: str, rank: int) -> None:
        """Give the session of an event a title, now or once the event is stored."""
        self.db.execute("INSERT OR REPLACE INTO event_title VALUES (?, ?, ?)", (event, title, rank))
        self._titled_events.add(event)
        self._apply_event_title(event)

    def reapply_event_titles(self, session: bytes) -> None:
        """Apply the titles of a session's events again, after its title was reset."""
        if self._titled_events:
            rows = self.db.execute(
                """
                SELECT event.id
                  FROM event_title JOIN event ON event.id = event_title.event
                 WHERE event.session = (SELECT key FROM session WHERE id = ?)""",
                (session,),
            )
            for (event,) in rows.fetchall():
                self._apply_event_title(event)

    def _apply_event_title(self, event: bytes) -> None:
        """Give the session of an event its title, unless the session has one of a higher rank."""
        self.db.execute(
            """
            UPDATE session SET title = event_title.title, title_rank = event_title.rank
              FROM event_title
             WHERE event_title.event = :event AND title_rank <= event_title.rank
               AND session.key = (SELECT session FROM event WHERE id = :event)""",
            {"event": event},
        )

    def put_problems(self, source: str, problems: Iterable[Problem]) -> None:
        self.db.executemany(
            "INSERT OR REPLACE INTO problem VALUES (?, ?, ?, ?, ?)",
            [(path_text(item.path), item.line, source, item.reason, item.excerpt) for item in problems],
        )

    def drop_problems(self, path: str, after: int = -1) -> None:
        """Drop the problems of a log, or of its lines after this one."""
        self.db.execute("DELETE FROM problem WHERE path = ? AND line > ?", (path, after))

    def _word(self, text: str | None) -> int | None:
        """The key of a word, which is stored if it is new."""
        if text is None:
            return None
        key = self._words.get(text)
        if key is None:
            (key,) = self.db.execute("INSERT INTO word (text) VALUES (?) RETURNING key", (text,)).fetchone()
            self._words[text] = key
        return key

    # ---- the progress of the text index

    def identity(self) -> str:
        return self.meta("identity") or ""

    def watermark(self) -> int:
        """The last key that the text index has."""
        return int(self.meta("indexed") or 0)

    def removed_keys(self) -> list[int]:
        """The keys of removed events that the index may still have."""
        return [key for (key,) in self.db.execute("SELECT key FROM removed_event")]

    def put_watermark(self, key: int, removed: list[int]) -> None:
        """Store the last key that the text index has, and forget removed keys that it no longer has."""
        with self.transaction():
            self.put_meta("indexed", str(key))
            self.db.executemany("DELETE FROM removed_event WHERE key = ?", [(key,) for key in removed])

    def checkpoint(self) -> None:
        """Move the write-ahead log into the archive, unless a reader still needs it."""
        try:
            self.db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        except sqlite3.Error as reason:
            raise store_fault(reason, self.path) from reason


def _flags(event: Event) -> int:
    return event.failed * FAILED | event.own * OWN | event.estimated * ESTIMATED | event.duplicate * DUPLICATE
