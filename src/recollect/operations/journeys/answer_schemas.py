"""The shapes of the journeys family's answers: the contract's."""

from typing import Any

_UUID = {"type": "string", "format": "uuid"}
_TIME = {"type": "string", "format": "date-time"}
_TEXT = {"type": "string"}


def _object(required: list[str], **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required}


def _rows(**properties: Any) -> dict[str, Any]:
    return {"type": "array", "items": {"type": "object", "properties": properties}}


_DOCUMENTS = _rows(document_id=_UUID, document_type=_TEXT, title=_TEXT, created_at=_TIME)
DOCUMENT = _object(
    ["document_id", "journey_id", "document_type", "title", "content", "metadata", "created_at"],
    document_id=_UUID,
    journey_id=_UUID,
    document_type=_TEXT,
    title=_TEXT,
    content={"type": ["string", "null"]},
    metadata={"type": ["object", "null"]},
    created_at=_TIME,
)

GET_OR_CREATE = _object(
    ["journey_id", "created_at", "session_count", "is_new"],
    journey_id=_UUID,
    user_id={"type": ["string", "null"], "format": "uuid"},
    created_at=_TIME,
    session_count={"type": "integer"},
    is_new={"type": "boolean", "description": "True if journey was just created"},
)
QUERY = _object(
    ["journey_id", "sessions", "total_results"],
    journey_id=_UUID,
    sessions=_rows(
        session_id=_UUID,
        created_at=_TIME,
        summary=_TEXT,
        has_diagnosis={"type": "boolean"},
        relevance_score={"type": "number"},
    ),
    documents=_DOCUMENTS,
    total_results={"type": "integer"},
)
ADD_DOCUMENT = _object(
    ["document_id", "journey_id", "document_type", "created_at"],
    document_id=_UUID,
    journey_id=_UUID,
    document_type=_TEXT,
    created_at=_TIME,
)
LINK = _object(["journey_id", "session_id"], journey_id=_UUID, session_id=_UUID)
TIMELINE = _object(
    ["journey_id", "entries"],
    journey_id=_UUID,
    entries=_rows(
        entry_type={"type": "string", "enum": ["session", "document"]},
        entry_id=_UUID,
        created_at=_TIME,
        estimated_time={"type": "boolean"},
        summary=_TEXT,
        has_diagnosis={"type": "boolean"},
        document_type=_TEXT,
        title=_TEXT,
    ),
)
LIST_DOCUMENTS = _object(["documents"], documents=_DOCUMENTS)
DELETE_JOURNEY = _object(
    ["journey_id", "session_count", "document_count"],
    journey_id=_UUID,
    session_count={"type": "integer"},
    document_count={"type": "integer"},
)
