"""Journeys, sessions and documents in the journeys family's shapes."""

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


def session(member: Member, with_diagnosis: set[bytes]) -> dict[str, Any]:
    return {
        "session_id": uuid_text(member.session),
        "created_at": timestamp(member.started_at),
        **estimate_field(member.estimated),
        "summary": member.summary,
        "has_diagnosis": member.session in with_diagnosis,
        "relevance_score": _relevance(member.score),
    }


def _relevance(score: float | None) -> float:
    """Not rounded: for words that most summaries have, scores of the engine differ only in the seventh digit."""
    return 0.0 if score is None else to_score(PRESENT + score)


def document_head(row: DocumentHead) -> dict[str, Any]:
    return {
        "document_id": uuid_text(row.id),
        "document_type": row.type,
        "title": row.title or "",
        "created_at": timestamp(row.created_at),
    }


def added_document(row: JourneyDocument) -> dict[str, Any]:
    return {
        "document_id": uuid_text(row.id),
        "journey_id": uuid_text(row.journey),
        "document_type": row.type,
        "created_at": timestamp(row.created_at),
    }


def document(row: JourneyDocument) -> dict[str, Any]:
    """A document in full. Missing fields are null, except a missing title, which is empty."""
    return {
        **document_head(row),
        "journey_id": uuid_text(row.journey),
        "content": row.content,
        "metadata": row.metadata and Raw(row.metadata.encode()),
    }


def entries(
    sessions: Sequence[Member], with_diagnosis: set[bytes], documents: Sequence[DocumentHead], limit: int
) -> list[dict[str, Any]]:
    """Sessions and documents in order of time; in the same millisecond, the session comes first."""
    session_entries = [(member.started_at, _session_entry(member, with_diagnosis)) for member in sessions]
    document_entries = [(row.created_at, _document_entry(row)) for row in documents]
    in_order = sorted([*session_entries, *document_entries], key=lambda pair: pair[0])
    return [entry for _, entry in in_order[:limit]]


def _session_entry(member: Member, with_diagnosis: set[bytes]) -> dict[str, Any]:
    return {
        "entry_type": "session",
        "entry_id": uuid_text(member.session),
        "created_at": timestamp(member.started_at),
        **estimate_field(member.estimated),
        "summary": member.summary,
        "has_diagnosis": member.session in with_diagnosis,
    }


def _document_entry(row: DocumentHead) -> dict[str, Any]:
    return {
        "entry_type": "document",
        "entry_id": uuid_text(row.id),
        "created_at": timestamp(row.created_at),
        "document_type": row.type,
        "title": row.title or "",
    }
