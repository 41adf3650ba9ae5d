"""The schemas of the journeys family's answers: the contract's."""

from recollect.operations.json_schema import (
    FLAG,
    TEXT,
    TEXT_OR_NULL,
    TIME,
    UUID,
    array_of,
    object_of,
    optional_object,
    with_optional,
)

_INTEGER = {"type": "integer"}
_DOCUMENTS = array_of(optional_object(document_id=UUID, document_type=TEXT, title=TEXT, created_at=TIME))
_SESSION = optional_object(
    session_id=UUID, created_at=TIME, summary=TEXT, has_diagnosis=FLAG, relevance_score={"type": "number"}
)
_ENTRY = optional_object(
    entry_type={"type": "string", "enum": ["session", "document"]},
    entry_id=UUID,
    created_at=TIME,
    estimated_time=FLAG,
    summary=TEXT,
    has_diagnosis=FLAG,
    document_type=TEXT,
    title=TEXT,
)

DOCUMENT = object_of(
    document_id=UUID,
    journey_id=UUID,
    document_type=TEXT,
    title=TEXT,
    content=TEXT_OR_NULL,
    metadata={"type": ["object", "null"]},
    created_at=TIME,
)
GET_OR_CREATE = with_optional(
    object_of(
        journey_id=UUID,
        created_at=TIME,
        session_count=_INTEGER,
        is_new={**FLAG, "description": "True if journey was just created"},
    ),
    user_id={**TEXT_OR_NULL, "format": "uuid"},
)
QUERY = with_optional(object_of(journey_id=UUID, sessions=array_of(_SESSION), total_results=_INTEGER), documents=_DOCUMENTS)
ADD_DOCUMENT = object_of(document_id=UUID, journey_id=UUID, document_type=TEXT, created_at=TIME)
LINK = object_of(journey_id=UUID, session_id=UUID)
TIMELINE = object_of(journey_id=UUID, entries=array_of(_ENTRY))
LIST_DOCUMENTS = object_of(documents=_DOCUMENTS)
DELETE_JOURNEY = object_of(journey_id=UUID, session_count=_INTEGER, document_count=_INTEGER)
