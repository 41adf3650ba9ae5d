"""Journeys: which sessions and documents belong to one person's work. They lie in the memory's database.

What a member shows is kept with it, so that a journey of ten thousand sessions is searched without reading any of them;
one question to the archive tells which of them are no longer as they were (`outdated`).
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
    """The state of a session that a summary is made of, as `MARK` has it in SQL."""
    return f"{session.event_count} {session.updated_at} {session.title}"


class JourneyRow(Struct, frozen=True):
    id: bytes
    user: bytes | None
    created_at: int


class SessionSummaryRow(Struct, frozen=True, kw_only=True):
    """What is told of a session: made of it, or given (`own`). `words` are the summary's, as the index knows them."""

    session: bytes
    started_at: int
    mark: str
    summary: str
    words: str
    is_supplied: bool = False
    diagnosed: bool | None = None
    diagnosis: str | None = None
    estimated: bool = False  # its times are the date of its log file


class Member(Struct, frozen=True):
    """A session of a journey as it is shown. `worth` is what its words are worth to a question."""

    session: bytes
    started_at: int
    summary: str
    diagnosed: bool | None
    estimated: bool = False
    score: float | None = None


class DocumentHead(Struct, frozen=True, kw_only=True):
    """A document as a list shows it."""

    id: bytes
    type: str
    title: str | None
    created_at: int


class JourneyDocument(DocumentHead, frozen=True, kw_only=True):
    """A document whole. `metadata` is JSON."""

    journey: bytes
    content: str | None
    metadata: str | None


class TimeWindow(Struct, frozen=True):
    """A stretch of time in milliseconds, both ends included."""

    first: int = -END_OF_TIME
    last: int = END_OF_TIME


MEMBER = "session, started_at, summary, diagnosed, estimated"
HEAD = ", ".join(DocumentHead.__struct_fields__)
DOCUMENT = ", ".join(JourneyDocument.__struct_fields__)
IN_WINDOW = "journey = :journey AND started_at BETWEEN :first AND :last"  # a session that is not here began at NULL


class Journeys:
    """The journeys of a realm, through one connection to its memory."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory

    def _rows(self, sql: str, values: Any = ()) -> list[Any]:
        return fetch(self.memory.db, self.memory.path, sql, values)

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """All questions inside see the same state, whoever writes meanwhile."""
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
        found = self._rows(f"SELECT id, user, created_at FROM journey WHERE {column} = ?", (value,))
        return JourneyRow(*found[0]) if found else None

    def create_journey(self, new: JourneyRow) -> JourneyRow:
        """Keep a journey, unless its user has one: then that one. Of any number of callers at once, one creates it."""
        with self.memory.transaction():
            known = self.journey_of_user(new.user) if new.user is not None else None
            if known is not None:
                return known
            self._rows("INSERT INTO journey VALUES (?, ?, ?)", (new.id, new.user, new.created_at))
            self.memory.journal("journey", new.id)
            return new

    def delete_journey(self, journey: bytes) -> tuple[int, int] | None:
        """Remove a journey: its documents go, its sessions are in none. How many sessions and documents that were."""
        with self.memory.transaction():
            if not self._rows("DELETE FROM journey WHERE id = ? RETURNING id", (journey,)):
                return None
            self._rows("DELETE FROM summary_text WHERE rowid IN (SELECT key FROM member WHERE journey = ?)", (journey,))
            members = self._rows("DELETE FROM member WHERE journey = ? RETURNING started_at", (journey,))
            documents = self._rows("DELETE FROM document WHERE journey = ? RETURNING key", (journey,))
            self.memory.rewrite_journal()
            return sum(started_at is not None for (started_at,) in members), len(documents)

    # ---- members, and the archive that they are of

    @contextmanager
    def _with_archive(self, archive: Path) -> Iterator[None]:
        """Both databases in one question. For no longer than that: another file may take the archive's place."""
        attach(self.memory.db, archive, "archive")
        try:
            yield
        finally:
            self._rows("DETACH archive")

    def session_count(self, journey: bytes, archive: Path) -> int:
        """How many sessions of a journey there are now."""
        with self._with_archive(archive):
            found = self._rows(
                """
                SELECT count(*)
                  FROM member JOIN archive.session ON session.id = member.session
                 WHERE member.journey = ? AND session.event_count > 0""",
                (journey,),
            )
        return int(found[0][0])

    def outdated_members(self, journey: bytes, archive: Path) -> tuple[list[bytes], list[bytes]]:
        """The sessions that are no longer as their summary says, newest first; and those that are gone."""
        with self._with_archive(archive):
            found = self._rows(
                f"""
                SELECT member.session, session.id
                  FROM member LEFT JOIN archive.session ON session.id = member.session AND session.event_count > 0
                 WHERE member.journey = ? AND member.mark IS NOT {MARK}
                 ORDER BY session.started_at DESC""",
                (journey,),
            )
        return [session for session, here in found if here], [session for session, here in found if not here]

    def add_member(self, journey: bytes, told: SessionSummaryRow) -> None:
        """Put a session into a journey, out of any other one. What was given before, and is not given now, stays.

        To be called inside a transaction, like `retell` and `hide`.
        """
        values = (told.session, journey, told.is_supplied, told.diagnosed, told.diagnosis)
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
        self.update_summary(told)
        self.memory.journal("member", told.session)

    def update_summary(self, told: SessionSummaryRow) -> None:
        """Bring what is told of a session up to date. A summary that was given gives way to another given one only."""
        values = (told.started_at, told.estimated, told.mark, told.session)
        self._rows("UPDATE member SET started_at = ?, estimated = ?, mark = ? WHERE session = ?", values)
        taken = self._rows(
            "UPDATE member SET summary = ? WHERE session = ? AND own <= ? RETURNING key",
            (told.summary, told.session, told.is_supplied),
        )
        for (key,) in taken:
            self._rows("DELETE FROM summary_text WHERE rowid = ?", (key,))
            self._rows("INSERT INTO summary_text (rowid, summary) VALUES (?, ?)", (key, told.words))

    def hide_session(self, session: bytes) -> None:
        """Show nothing of a session that the archive does not have. It stays a member: it may come back."""
        self._rows("UPDATE member SET started_at = NULL, mark = NULL WHERE session = ?", (session,))

    # ---- history

    def members_by_time(self, journey: bytes, window: TimeWindow, limit: int, *, newest_first: bool = True) -> list[Member]:
        order = "DESC" if newest_first else "ASC"
        found = self._rows(
            f"""
            SELECT {MEMBER} FROM member
             WHERE {IN_WINDOW}
             ORDER BY started_at {order}, session
             LIMIT :limit""",
            {"limit": limit, **_within(journey, window)},
        )
        return [_member(*row) for row in found]

    def count_members(self, journey: bytes, window: TimeWindow) -> int:
        found = self._rows(f"SELECT count(*) FROM member WHERE {IN_WINDOW}", _within(journey, window))
        return int(found[0][0])

    def search_members(self, journey: bytes, match: str, window: TimeWindow, limit: int) -> tuple[list[Member], int]:
        """The sessions whose summary matches, best first and then by date; and how many there are.

        `match` is in the engine's language. The words come first, whatever the planner thinks; and only what is shown is
        fetched whole.
        """
        found = self._rows(
            f"""
            WITH match AS MATERIALIZED (
                SELECT member.key AS place, -bm25(summary_text) AS worth, started_at AS began, session AS id
                  FROM summary_text CROSS JOIN member ON member.key = summary_text.rowid
                 WHERE summary_text MATCH :match AND {IN_WINDOW})
            SELECT {MEMBER}, worth, (SELECT count(*) FROM match)
              FROM (SELECT place, worth FROM match ORDER BY worth DESC, began DESC, id LIMIT :limit)
                   CROSS JOIN member ON member.key = place
             ORDER BY worth DESC, started_at DESC, session""",
            {"match": match, "limit": limit, **_within(journey, window)},
        )
        return [_member(*row[:-1]) for row in found], found[0][-1] if found else 0

    # ---- documents

    def add_document(self, document: JourneyDocument) -> bool:
        """False where there is no such journey."""
        with self.memory.transaction():
            if self.journey(document.journey) is None:
                return False
            values = astuple(document)
            self._rows(f"INSERT INTO document ({DOCUMENT}) VALUES ({', '.join('?' * len(values))})", values)
            self.memory.journal("document", document.id)
            return True

    def documents(
        self, journey: bytes, window: TimeWindow, limit: int = -1, *, newest_first: bool = True
    ) -> list[DocumentHead]:
        """The documents of a journey. A limit below 0 is none."""
        order = "DESC" if newest_first else "ASC"
        found = self._rows(
            f"""
            SELECT {HEAD} FROM document
             WHERE journey = ? AND created_at BETWEEN ? AND ?
             ORDER BY created_at {order}, key {order}
             LIMIT ?""",
            (journey, window.first, window.last, limit),
        )
        return [_struct(DocumentHead, row) for row in found]

    def document(self, journey: bytes, document: bytes) -> JourneyDocument | None:
        return self._document(f"SELECT {DOCUMENT} FROM document WHERE journey = ? AND id = ?", journey, document)

    def delete_document(self, journey: bytes, document: bytes) -> JourneyDocument | None:
        """Remove a document; what it was."""
        with self.memory.transaction():
            delete = f"DELETE FROM document WHERE journey = ? AND id = ? RETURNING {DOCUMENT}"
            removed = self._document(delete, journey, document)
            if removed is not None:
                self.memory.rewrite_journal()
            return removed

    def _document(self, sql: str, journey: bytes, document: bytes) -> JourneyDocument | None:
        found = self._rows(sql, (journey, document))
        return _struct(JourneyDocument, found[0]) if found else None


def _within(journey: bytes, window: TimeWindow) -> dict[str, Any]:
    return {"journey": journey, "first": window.first, "last": window.last}


def _member(
    session: bytes, started_at: int, summary: str, diagnosed: int | None, estimated: int, worth: float | None = None
) -> Member:
    return Member(session, started_at, summary, None if diagnosed is None else bool(diagnosed), bool(estimated), worth)


def _struct(shape: type[Row], row: Any) -> Row:
    return shape(**dict(zip(shape.__struct_fields__, row, strict=True)))
