"""The shapes of the sessions family's answers, for programs."""

from typing import Any

from recollect.operations.schema import JsonSchema
from recollect.shown_time import FIELD


def _object(**properties: Any) -> JsonSchema:
    """The shape of an answer: all of these are there."""
    return {"type": "object", "properties": properties, "required": list(properties)}


TEXT = {"type": "string"}
COUNT = {"type": "integer", "minimum": 0}
ID = {"type": "string", "format": "uuid"}
COUNTS = _object(
    input_tokens=COUNT,
    output_tokens=COUNT,
    cache_read_tokens=COUNT,
    cache_write_tokens=COUNT,
    reasoning_tokens=COUNT,
    total_tokens=COUNT,
)
ESTIMATED = {"type": "boolean", "description": "By the length of what was said, where the agent tells no tokens."}
USAGE = {**COUNTS, "properties": {**COUNTS["properties"], "estimated": ESTIMATED}}
TURN = _object(session_id=ID, text=TEXT, usage=USAGE, turns=COUNT, tool_calls=COUNT, stop_reason=TEXT)
SESSION = _object(
    session_id=ID,
    realm_id=TEXT,
    instance_id=TEXT,
    backend={"type": "string", "enum": ["sqlite", "jsonl", "memory"]},
    config_generation=COUNT,
    created_at=TEXT,
    updated_at=TEXT,
    message_count=COUNT,
    is_active={"type": "boolean"},
    labels={"type": "object", "additionalProperties": TEXT},
    usage=USAGE,
    turns=COUNT,
    runner=TEXT,
)
SESSION["properties"] |= {  # of sessions read from agents' logs
    "imported": {"type": "boolean"},
    "title": TEXT,
    FIELD: {"type": "boolean", "description": "The log has no times: those of its file are shown."},
}
MESSAGE = {
    "type": "object",
    "properties": {
        "role": {"type": "string", "enum": ["user", "assistant", "tool_results", "system_notice"]},
        "content": TEXT,
        "created_at": TEXT,
        FIELD: {"type": "boolean"},
        "blocks": {"type": "array", "items": {"type": "object"}},
        "results": {"type": "array", "items": {"type": "object"}},
        "kind": TEXT,
        "injected": {"type": "boolean", "description": "Context that was put in, not typed."},
        "compaction_summary": {"type": "boolean"},
        "stop_reason": TEXT,
        "usage": USAGE,
    },
    "required": ["role", "content", "created_at"],
}
REALM = _object(realm_id=TEXT, backend=TEXT, origin={"type": ["string", "null"]}, created_at={"type": ["string", "null"]})
REALM_DETAILS = {
    **REALM,
    "properties": {
        **REALM["properties"],
        "folder": TEXT,
        "bytes": COUNT,
        "config_generation": COUNT,
        "instances": {"type": "array", "items": _object(instance_id=TEXT, surface=TEXT, pid=COUNT, since=TEXT)},
    },
}
FAILED = {"type": "array", "items": _object(realm_id=TEXT, message=TEXT)}
REALMS = _object(realms={"type": "array", "items": REALM})
REALMS["properties"] |= {"failed": FAILED}
PRUNED = _object(realms={"type": "array", "items": REALM_DETAILS}, failed=FAILED)
CREATED = {"anyOf": [TURN, _object(session_id=ID)]}
INTERRUPTED = _object(session_id=ID, interrupted={"type": "boolean"})
HISTORY = _object(
    session_id=ID,
    message_count=COUNT,
    offset=COUNT,
    limit=COUNT,
    has_more={"type": "boolean"},
    messages={"type": "array", "items": MESSAGE},
)
SESSIONS = _object(sessions={"type": "array", "items": SESSION})
ARCHIVED = _object(session_id=ID, archived={"type": "boolean"})
LOCATED = _object(session_id=ID)
CONFIG = _object(config={"type": "object"}, generation=COUNT, realm_id=TEXT, instance_id=TEXT, backend=TEXT)
