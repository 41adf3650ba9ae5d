"""Journeys in the shapes of their contract."""

from collections.abc import Sequence
from typing import Any

from msgspec import Raw

from recollect.model import timestamp
from recollect.operations.ids import uuid_text
from recollect.search.observations import PRESENT, to_score
from recollect.shown_time import estimate_field
from recollect.store.journeys import DocumentHead, JourneyDocument, JourneyRow, Member


def journey(row: JourneyRow, session_count: int, *, is_new: bool) -> dict[str, Any]:
    return {
        "journey_id": uuid_text(row.id),
        "user_id": row.user and uuid_text(row.user),
        "created_at": timestamp(row.created_at),
        "session_count": session_count,
        "is_new": is_new,
    }


def session(member: Member, diagnosed: set[bytes]) -> dict[str, Any]:
    return {
        "session_id": uuid_text(member.session),
        "created_at": timestamp(member.started_at),
        **estimate_field(member.estimated),
        "summary": member.summary,
        "has_diagnosis": member.session in diagnosed,
        "relevance_score": _relevance(member.score),
    }


def _relevance(worth: float | None) -> float:
    """Never rounded: of words that most summaries have, the engine makes differences in the seventh digit."""
    return 0.0 if worth is None else to_score(PRESENT + worth)


def document_head(row: DocumentHead) -> dict[str, Any]:
    return {
        "document_id": uuid_text(row.id),
        "document_type": row.type,
        "title": row.title or "",
        "created_at": timestamp(row.created_at),
    }


def added(row: JourneyDocument) -> dict[str, Any]:
    return {
        "document_id": uuid_text(row.id),
        "journey_id": uuid_text(row.journey),
        "document_type": row.type,
        "created_at": timestamp(row.created_at),
    }


def document(row: JourneyDocument) -> dict[str, Any]:
    """The whole of it. What was not given is null; only a title is a text in any case."""
    return {
        **document_head(row),
        "journey_id": uuid_text(row.journey),
        "content": row.content,
        "metadata": row.metadata and Raw(row.metadata.encode()),
    }


def entries(
    sessions: Sequence[Member], diagnosed: set[bytes], documents: Sequence[DocumentHead], limit: int
) -> list[dict[str, Any]]:
    """Sessions and documents in one line of time; of the same millisecond, the session comes first."""
    begun = [(one.started_at, _session_entry(one, diagnosed)) for one in sessions]
    added = [(one.created_at, _document_entry(one)) for one in documents]
    return [entry for _, entry in sorted([*begun, *added], key=lambda pair: pair[0])[:limit]]


def _session_entry(member: Member, diagnosed: set[bytes]) -> dict[str, Any]:
    return {
        "entry_type": "session",
        "entry_id": uuid_text(member.session),
        "created_at": timestamp(member.started_at),
        **estimate_field(member.estimated),
        "summary": member.summary,
        "has_diagnosis": member.session in diagnosed,
    }


def _document_entry(row: DocumentHead) -> dict[str, Any]:
    return {
        "entry_type": "document",
        "entry_id": uuid_text(row.id),
        "created_at": timestamp(row.created_at),
        "document_type": row.type,
        "title": row.title or "",
    }
