"""Journeys: the sessions and documents of one person's work. They are in the memory's database.

Each member has a copy of the data that it shows. So a search in a journey of ten thousand sessions reads none of them. One
query of the archive finds the members whose copy is outdated.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import astuple

from recollect.store.memory import Memory
from recollect.store.sqlite.database import attach, fetch, roll_back
from recollect.store.sqlite.rows import SessionRow

MARK = "session.event_count || ' ' || session.updated_at || ' ' || session.title"
END_OF_TIME = 1 << 62  # milliseconds

Row = TypeVar("Row", bound=Struct)


def session_mark(session: SessionRow) -> str:
    """A text that changes when a session changes. It equals `MARK` in SQL."""
    return f"{session.event_count} {session.updated_at} {session.title}"


class JourneyRow(Struct, frozen=True):
    """A journey. `user` is the person that it belongs to, if known."""

    id: bytes
    user: bytes | None
    created_at: int


class SessionSummaryRow(Struct, frozen=True, kw_only=True):
    """A session's summary in a journey: generated, or supplied by the caller. `words` are its words for the index."""

    session: bytes
    started_at: int
    mark: str
    summary: str
    words: str
    is_supplied: bool = False
    diagnosed: bool | None = None
    diagnosis: str | None = None
    estimated: bool = False  # its times are the date of the log file


class Member(Struct, frozen=True):
    """The shown data of a session in a journey. `score` is how well the session matches a query."""

    session: bytes
    started_at: int
    summary: str
    diagnosed: bool | None
    estimated: bool = False
    score: float | None = None


class DocumentHead(Struct, frozen=True, kw_only=True):
    """The data of a document that a list shows."""

    id: bytes
    type: str
    title: str | None
    created_at: int


class JourneyDocument(DocumentHead, frozen=True, kw_only=True):
    """A complete document. `metadata` is JSON."""

    journey: bytes
    content: str | None
    metadata: str | None


class DateRange(Struct, frozen=True):
    """A period in milliseconds, both ends included."""

    first: int = -END_OF_TIME
    last: int = END_OF_TIME


MEMBER = "session, started_at, summary, diagnosed, estimated"
DOCUMENT_HEAD = ", ".join(DocumentHead.__struct_fields__)
DOCUMENT = ", ".join(JourneyDocument.__struct_fields__)
IN_WINDOW = "journey = :journey AND started_at BETWEEN :first AND :last"  # `started_at` of a hidden session is NULL


class Journeys:
    """The journeys of a realm, through one connection to its memory."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory

    def _rows(self, sql: str, values: Any = ()) -> list[Any]:
        return fetch(self.memory.db, self.memory.path, sql, values)

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """All queries in the block see the same state, even if another process writes meanwhile."""
        self._rows("BEGIN")
        try:
            yield
        finally:
            roll_back(self.memory.db)

    # ---- journeys

    def journey(self, journey: bytes) -> JourneyRow | None:
        return self._journey("id", journey)

    def journey_of_user(self, user: bytes) -> JourneyRow | None:
        return self._journey("user", user)

    def _journey(self, column: str, value: bytes) -> JourneyRow | None:
        rows = self._rows(f"SELECT id, user, created_at FROM journey WHERE {column} = ?", (value,))
        return JourneyRow(*rows[0]) if rows else None

    def create_journey(self, new: JourneyRow) -> JourneyRow:
        """Create a journey, or return the one that its user has. If many callers do so at once, one creates it."""
        with self.memory.transaction():
            known = self.journey_of_user(new.user) if new.user is not None else None
            if known is not None:
                return known
            self._rows("INSERT INTO journey VALUES (?, ?, ?)", (new.id, new.user, new.created_at))
            self.memory.journal("journey", new.id)
            return new

    def delete_journey(self, journey: bytes) -> tuple[int, int] | None:
        """Remove a journey and its documents. Its sessions stay. Returns the numbers of sessions and documents."""
        with self.memory.transaction():
            if not self._rows("DELETE FROM journey WHERE id = ? RETURNING id", (journey,)):
                return None
            self._rows("DELETE FROM summary_text WHERE rowid IN (SELECT key FROM member WHERE journey = ?)", (journey,))
            members = self._rows("DELETE FROM member WHERE journey = ? RETURNING started_at", (journey,))
            documents = self._rows("DELETE FROM document WHERE journey = ? RETURNING key", (journey,))
            self.memory.rewrite_journal()
            return sum(started_at is not None for (started_at,) in members), len(documents)

    # ---- members, and their sessions in the archive

    @contextmanager
    def _with_archive(self, archive: Path) -> Iterator[None]:
        """Attach the archive for a query. It is detached at once, because the file may be replaced."""
        attach(self.memory.db, archive, "archive")
        try:
            yield
        finally:
            self._rows("DETACH archive")

    def session_count(self, journey: bytes, archive: Path) -> int:
        """The number of sessions of a journey that are in the archive."""
        with self._with_archive(archive):
            rows = self._rows(
                """
                SELECT count(*)
                  FROM member JOIN archive.session ON session.id = member.session
                 WHERE member.journey = ? AND session.event_count > 0""",
                (journey,),
            )
        return int(rows[0][0])

    def outdated_members(self, journey: bytes, archive: Path) -> tuple[list[bytes], list[bytes]]:
        """The sessions whose summary is outdated, newest first; and those that no longer exist."""
        with self._with_archive(archive):
            rows = self._rows(
                f"""
                SELECT member.session, session.id
                  FROM member LEFT JOIN archive.session ON session.id = member.session AND session.event_count > 0
                 WHERE member.journey = ? AND member.mark IS NOT {MARK}
                 ORDER BY session.started_at DESC""",
                (journey,),
            )
        return [session for session, stored in rows if stored], [session for session, stored in rows if not stored]

    def add_member(self, journey: bytes, summary: SessionSummaryRow) -> None:
        """Put a session into a journey, and remove it from any other one. Supplied values stay unless supplied again.

        Call it inside a transaction, like `update_summary` and `hide_session`.
        """
        values = (summary.session, journey, summary.is_supplied, summary.diagnosed, summary.diagnosis)
        self._rows(
            """
            INSERT INTO member (session, journey, summary, own, diagnosed, diagnosis) VALUES (?, ?, '', ?, ?, ?)
            ON CONFLICT (session) DO UPDATE SET
                journey = excluded.journey,
                own = max(own, excluded.own),
                diagnosis = CASE WHEN excluded.diagnosed IS NULL THEN diagnosis ELSE excluded.diagnosis END,
                diagnosed = coalesce(excluded.diagnosed, diagnosed)""",
            values,
        )
        self.update_summary(summary)
        self.memory.journal("member", summary.session)

    def update_summary(self, summary: SessionSummaryRow) -> None:
        """Update the copy of a session's data. Only a supplied summary replaces a supplied one."""
        values = (summary.started_at, summary.estimated, summary.mark, summary.session)
        self._rows("UPDATE member SET started_at = ?, estimated = ?, mark = ? WHERE session = ?", values)
        updated = self._rows(
            "UPDATE member SET summary = ? WHERE session = ? AND own <= ? RETURNING key",
            (summary.summary, summary.session, summary.is_supplied),
        )
        for (key,) in updated:
            self._rows("DELETE FROM summary_text WHERE rowid = ?", (key,))
            self._rows("INSERT INTO summary_text (rowid, summary) VALUES (?, ?)", (key, summary.words))

    def hide_session(self, session: bytes) -> None:
        """Hide a session that the archive does not have. It stays a member, because it may come back."""
        self._rows("UPDATE member SET started_at = NULL, mark = NULL WHERE session = ?", (session,))

    # ---- history

    def members_by_time(self, journey: bytes, window: DateRange, limit: int, *, newest_first: bool = True) -> list[Member]:
        order = "DESC" if newest_first else "ASC"
        rows = self._rows(
            f"""
            SELECT {MEMBER} FROM member
             WHERE {IN_WINDOW}
             ORDER BY started_at {order}, session
             LIMIT :limit""",
            {"limit": limit, **_within(journey, window)},
        )
        return [_member(*row) for row in rows]

    def count_members(self, journey: bytes, window: DateRange) -> int:
        rows = self._rows(f"SELECT count(*) FROM member WHERE {IN_WINDOW}", _within(journey, window))
        return int(rows[0][0])

    def search_members(self, journey: bytes, match: str, window: DateRange, limit: int) -> tuple[list[Member], int]:
        """The sessions whose summary matches an FTS5 query, best first, then by date; and the number of all matches.

        CROSS JOIN makes SQLite search the words first. Only the rows that are shown are fetched completely.
        """
        rows = self._rows(
            f"""
            WITH match AS MATERIALIZED (
                SELECT member.key AS place, -bm25(summary_text) AS score, started_at AS began, session AS id
                  FROM summary_text CROSS JOIN member ON member.key = summary_text.rowid
                 WHERE summary_text MATCH :match AND {IN_WINDOW})
            SELECT {MEMBER}, score, (SELECT count(*) FROM match)
              FROM (SELECT place, score FROM match ORDER BY score DESC, began DESC, id LIMIT :limit)
                   CROSS JOIN member ON member.key = place
             ORDER BY score DESC, started_at DESC, session""",
            {"match": match, "limit": limit, **_within(journey, window)},
        )
        return [_member(*row[:-1]) for row in rows], rows[0][-1] if rows else 0

    # ---- documents

    def add_document(self, document: JourneyDocument) -> bool:
        """Add a document. Returns False if the journey does not exist."""
        with self.memory.transaction():
            if self.journey(document.journey) is None:
                return False
            values = astuple(document)
            self._rows(f"INSERT INTO document ({DOCUMENT}) VALUES ({', '.join('?' * len(values))})", values)
            self.memory.journal("document", document.id)
            return True

    def documents(
        self, journey: bytes, window: DateRange, limit: int = -1, *, newest_first: bool = True
    ) -> list[DocumentHead]:
        """The documents of a journey. A negative limit means no limit."""
        order = "DESC" if newest_first else "ASC"
        rows = self._rows(
            f"""
            SELECT {DOCUMENT_HEAD} FROM document
             WHERE journey = ? AND created_at BETWEEN ? AND ?
             ORDER BY created_at {order}, key {order}
             LIMIT ?""",
            (journey, window.first, window.last, limit),
        )
        return [_struct(DocumentHead, row) for row in rows]

    def document(self, journey: bytes, document: bytes) -> JourneyDocument | None:
        return self._document(f"SELECT {DOCUMENT} FROM document WHERE journey = ? AND id = ?", journey, document)

    def delete_document(self, journey: bytes, document: bytes) -> JourneyDocument | None:
        """Remove a document. Returns the removed document, or None."""
        with self.memory.transaction():
            delete = f"DELETE FROM document WHERE journey = ? AND id = ? RETURNING {DOCUMENT}"
            removed = self._document(delete, journey, document)
            if removed is not None:
                self.memory.rewrite_journal()
            return removed

    def _document(self, sql: str, journey: bytes, document: bytes) -> JourneyDocument | None:
        rows = self._rows(sql, (journey, document))
        return _struct(JourneyDocument, rows[0]) if rows else None


def _within(journey: bytes, window: DateRange) -> dict[str, Any]:
    return {"journey": journey, "first": window.first, "last": window.last}


def _member(
    session: bytes, started_at: int, summary: str, diagnosed: int | None, estimated: int, score: float | None = None
) -> Member:
    return Member(session, started_at, summary, None if diagnosed is None else bool(diagnosed), bool(estimated), score)


def _struct(shape: type[Row], row: Any) -> Row:
    return shape(**dict(zip(shape.__struct_fields__, row, strict=True)))
