"""The schemas of the sessions family's answers, for programs."""

from recollect.operations.json_schema import (
    COUNT,
    FLAG,
    OBJECT,
    TEXT,
    TEXT_OR_NULL,
    UUID,
    array_of,
    object_of,
    with_optional,
)
from recollect.shown_time import FIELD

USAGE = with_optional(
    object_of(
        input_tokens=COUNT,
        output_tokens=COUNT,
        cache_read_tokens=COUNT,
        cache_write_tokens=COUNT,
        reasoning_tokens=COUNT,
        total_tokens=COUNT,
    ),
    estimated={**FLAG, "description": "From the length of the text, if the agent reports no tokens."},
)
TURN = object_of(session_id=UUID, text=TEXT, usage=USAGE, turns=COUNT, tool_calls=COUNT, stop_reason=TEXT)
SESSION = with_optional(
    object_of(
        session_id=UUID,
        realm_id=TEXT,
        instance_id=TEXT,
        backend={"type": "string", "enum": ["sqlite", "jsonl", "memory"]},
        config_generation=COUNT,
        created_at=TEXT,
        updated_at=TEXT,
        message_count=COUNT,
        is_active=FLAG,
        labels={"type": "object", "additionalProperties": TEXT},
        usage=USAGE,
        turns=COUNT,
        runner=TEXT,
    ),
    imported=FLAG,  # this and the next two: of sessions read from agents' logs
    title=TEXT,
    **{FIELD: {**FLAG, "description": "The log has no times: the file's times are shown."}},
)
MESSAGE = with_optional(
    object_of(
        role={"type": "string", "enum": ["user", "assistant", "tool_results", "system_notice"]},
        content=TEXT,
        created_at=TEXT,
    ),
    **{FIELD: FLAG},
    blocks=array_of(OBJECT),
    results=array_of(OBJECT),
    kind=TEXT,
    injected={**FLAG, "description": "Context that was inserted, not typed."},
    compaction_summary=FLAG,
    stop_reason=TEXT,
    usage=USAGE,
)
REALM = object_of(realm_id=TEXT, backend=TEXT, origin=TEXT_OR_NULL, created_at=TEXT_OR_NULL)
REALM_DETAILS = with_optional(
    REALM,
    folder=TEXT,
    bytes=COUNT,
    config_generation=COUNT,
    instances=array_of(object_of(instance_id=TEXT, surface=TEXT, pid=COUNT, since=TEXT)),
)
FAILED = array_of(object_of(realm_id=TEXT, message=TEXT))
REALMS = with_optional(object_of(realms=array_of(REALM)), failed=FAILED)
PRUNED = object_of(realms=array_of(REALM_DETAILS), failed=FAILED)
LOCATED = object_of(session_id=UUID)
CREATED = {"anyOf": [TURN, LOCATED]}
INTERRUPTED = object_of(session_id=UUID, interrupted=FLAG)
HISTORY = object_of(
    session_id=UUID, message_count=COUNT, offset=COUNT, limit=COUNT, has_more=FLAG, messages=array_of(MESSAGE)
)
SESSIONS = object_of(sessions=array_of(SESSION))
ARCHIVED = object_of(session_id=UUID, archived=FLAG)
CONFIG = object_of(config=OBJECT, generation=COUNT, realm_id=TEXT, instance_id=TEXT, backend=TEXT)
