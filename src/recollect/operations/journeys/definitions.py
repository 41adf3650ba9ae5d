"""What the journey tools say of themselves, to a model that has to choose between them. The schemas are the contract's."""

from typing import Any

from recollect.operations.operation import Route

TYPES = ("woop_plan", "file_upload", "artifact", "note")
DEFAULT_FOUND, MOST_FOUND = 10, 100
DEFAULT_ENTRIES, MOST_ENTRIES = 50, 1_000

_UUID = {"type": "string", "format": "uuid"}
_TIME = {"type": "string", "format": "date-time"}
_TEXT = {"type": "string"}


def _told(shape: dict[str, Any], description: str) -> dict[str, Any]:
    return {**shape, "description": description}


def _object(required: list[str], **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required}


def _rows(**properties: Any) -> dict[str, Any]:
    return {"type": "array", "items": {"type": "object", "properties": properties}}


_DOCUMENTS = _rows(document_id=_UUID, document_type=_TEXT, title=_TEXT, created_at=_TIME)
_DOCUMENT = _object(
    ["document_id", "journey_id", "document_type", "title", "content", "metadata", "created_at"],
    document_id=_UUID,
    journey_id=_UUID,
    document_type=_TEXT,
    title=_TEXT,
    content={"type": ["string", "null"]},
    metadata={"type": ["object", "null"]},
    created_at=_TIME,
)

GET_OR_CREATE: dict[str, Any] = {
    "name": "get_or_create_journey",
    "title": "Get or create a journey",
    "description": (
        "Get existing journey for user or create new one: one person's work and documents in their order. "
        "query_journey_history and the other journey tools take its id."
    ),
    "input_schema": _object([], user_id=_told(_UUID, "User identifier. NULL/omitted for anonymous journey.")),
    "output_schema": _object(
        ["journey_id", "created_at", "session_count", "is_new"],
        journey_id=_UUID,
        user_id={"type": ["string", "null"], "format": "uuid"},
        created_at=_TIME,
        session_count={"type": "integer"},
        is_new={"type": "boolean", "description": "True if journey was just created"},
    ),
    "writes": True,
    "repeatable": False,
    "routes": (Route(rpc="journey/get_or_create", http="POST /journeys"),),
}

QUERY: dict[str, Any] = {
    "name": "query_journey_history",
    "title": "Search a journey",
    "description": (
        "What is linked to a journey, by keyword and range of dates; without a query, newest on top. Nothing outside "
        "of the journey. `open` shows one: session:<session_id without dashes>."
    ),
    "input_schema": _object(
        ["journey_id"],
        journey_id=_told(_UUID, "Journey to search within"),
        query=_told(_TEXT, "Keyword search on session summaries"),
        from_date=_told(_TIME, "Start of time range filter"),
        to_date=_told(_TIME, "End of time range filter"),
        limit={"type": "integer", "default": DEFAULT_FOUND, "minimum": 1, "maximum": MOST_FOUND},
        include_documents={"type": "boolean", "default": False, "description": "Include linked documents in results"},
    ),
    "output_schema": _object(
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
    ),
    "routes": (Route(rpc="journey/query", http="GET /journeys/{journey_id}/history"),),
}

ADD_DOCUMENT: dict[str, Any] = {
    "name": "add_document_to_journey",
    "title": "Add a document to a journey",
    "description": (
        "Link a note, document or artifact to a journey; its query lists it with include_documents. A path is kept as"
        " text, it is never opened."
    ),
    "input_schema": _object(
        ["journey_id", "document_type"],
        journey_id=_told(_UUID, "Journey to link document to"),
        document_type={"type": "string", "enum": list(TYPES), "description": "Type of document"},
        title=_told(_TEXT, "Document title"),
        content=_told(_TEXT, "Document content or file path"),
        metadata={"type": "object", "description": "Additional metadata"},
    ),
    "output_schema": _object(
        ["document_id", "journey_id", "document_type", "created_at"],
        document_id=_UUID,
        journey_id=_UUID,
        document_type=_TEXT,
        created_at=_TIME,
    ),
    "writes": True,
    "repeatable": False,
    "routes": (Route(rpc="document/add", http="POST /journeys/{journey_id}/documents"),),
}

LINK: dict[str, Any] = {
    "name": "link_session_to_journey",
    "title": "Link a session to a journey",
    "description": (
        "Link a session to a journey, whose queries cover it then; it leaves any other journey. The session_id is the"
        " hex of a session:… of `open` or search_sessions as a UUID."
    ),
    "input_schema": _object(
        ["journey_id", "session_id"],
        journey_id=_UUID,
        session_id=_UUID,
        summary=_told(_TEXT, "What to show and find it by. Default: made from the session"),
        diagnosis=_told({"type": ["string", "boolean"]}, "What was diagnosed, or whether. Default: as observed"),
    ),
    "output_schema": _object(["journey_id", "session_id"], journey_id=_UUID, session_id=_UUID),
    "writes": True,
    "routes": (Route(rpc="journey/link", http="POST /journeys/{journey_id}/sessions"),),
}

# ---- what people and programs ask for, and models are not offered

_JOURNEY = _object(["journey_id"], journey_id=_UUID)
_ONE_DOCUMENT = _object(["journey_id", "document_id"], journey_id=_UUID, document_id=_UUID)

TIMELINE: dict[str, Any] = {
    "name": "journey_timeline",
    "title": "The course of a journey",
    "description": "Sessions and documents of a journey, oldest first.",
    "input_schema": _object(
        ["journey_id"],
        journey_id=_UUID,
        limit={"type": "integer", "default": DEFAULT_ENTRIES, "minimum": 1, "maximum": MOST_ENTRIES},
    ),
    "output_schema": _object(
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
    ),
    "is_tool": False,
    "routes": (Route(rpc="journey/timeline", http="GET /journeys/{journey_id}/timeline"),),
}

LIST_DOCUMENTS: dict[str, Any] = {
    "name": "list_documents",
    "title": "The documents of a journey",
    "description": "Documents of a journey, newest first.",
    "input_schema": _JOURNEY,
    "output_schema": _object(["documents"], documents=_DOCUMENTS),
    "is_tool": False,
    "routes": (Route(rpc="document/list", http="GET /journeys/{journey_id}/documents"),),
}

GET_DOCUMENT: dict[str, Any] = {
    "name": "get_document",
    "title": "Read a document",
    "description": "A document of a journey, whole.",
    "input_schema": _ONE_DOCUMENT,
    "output_schema": _DOCUMENT,
    "is_tool": False,
    "routes": (Route(rpc="document/get", http="GET /journeys/{journey_id}/documents/{document_id}"),),
}

DELETE_DOCUMENT: dict[str, Any] = {
    "name": "delete_document",
    "title": "Delete a document",
    "description": "Remove a document from its journey; the answer is what it was.",
    "input_schema": _ONE_DOCUMENT,
    "output_schema": _DOCUMENT,
    "writes": True,
    "repeatable": False,
    "is_tool": False,
    "routes": (Route(rpc="document/delete", http="DELETE /journeys/{journey_id}/documents/{document_id}"),),
}

DELETE_JOURNEY: dict[str, Any] = {
    "name": "delete_journey",
    "title": "Delete a journey",
    "description": "Remove a journey and its documents; its sessions stay, in no journey.",
    "input_schema": _JOURNEY,
    "output_schema": _object(
        ["journey_id", "session_count", "document_count"],
        journey_id=_UUID,
        session_count={"type": "integer"},
        document_count={"type": "integer"},
    ),
    "writes": True,
    "repeatable": False,
    "is_tool": False,
    "routes": (Route(rpc="journey/delete", http="DELETE /journeys/{journey_id}"),),
}
