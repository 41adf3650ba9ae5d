"""The sessions family in words and shapes: what its operations are called, take and give, on every surface."""

from typing import Any

from recollect.operations.operation import JsonSchema, Route
from recollect.shown_time import FIELD

ACTIONS = ("get", "set", "patch")
DEFERRED, IMMEDIATE = "deferred", "immediate"
DEFAULT_PAGE, MOST_PAGE = 100, 1_000  # messages, or sessions, at once
LONGEST_PROMPT = 8 << 20  # characters


def shape(required: list[str], **properties: Any) -> JsonSchema:
    needed = {"required": required} if required else {}
    return {"type": "object", "properties": properties, **needed, "additionalProperties": False}


def told(**properties: Any) -> JsonSchema:
    """The shape of an answer: all of these are there."""
    return {"type": "object", "properties": properties, "required": list(properties)}


TEXT = {"type": "string"}
COUNT = {"type": "integer", "minimum": 0}
UUID = {"type": "string"}  # a UUID, or `realm:uuid`
ID = {"type": "string", "format": "uuid"}
LABELS = {"type": "object", "additionalProperties": TEXT}
WORDS = {"type": "array", "items": TEXT}
COMMAND = {**WORDS, "description": "Not over MCP."}
RUNNER = {"type": "string", "description": "recall (default), command, acp, or one of the config."}
IMPORTED = {"type": "boolean", "default": False, "description": "Also sessions read from agents' logs."}
OFFSET = {"type": "integer", "minimum": 0, "default": 0}
LIMIT = {"type": "integer", "minimum": 1, "maximum": MOST_PAGE, "default": DEFAULT_PAGE}
COUNTS = told(
    input_tokens=COUNT,
    output_tokens=COUNT,
    cache_read_tokens=COUNT,
    cache_write_tokens=COUNT,
    reasoning_tokens=COUNT,
    total_tokens=COUNT,
)
ESTIMATED = {"type": "boolean", "description": "By the length of what was said, where the agent tells no tokens."}
USAGE = {**COUNTS, "properties": {**COUNTS["properties"], "estimated": ESTIMATED}}
RAN = told(session_id=ID, text=TEXT, usage=USAGE, turns=COUNT, tool_calls=COUNT, stop_reason=TEXT)
SESSION = told(
    session_id=ID,
    realm_id=TEXT,
    instance_id=TEXT,
    backend={"type": "string", "enum": ["sqlite", "jsonl", "memory"]},
    config_generation=COUNT,
    created_at=TEXT,
    updated_at=TEXT,
    message_count=COUNT,
    is_active={"type": "boolean"},
    labels=LABELS,
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
REALM = told(realm_id=TEXT, backend=TEXT, origin={"type": ["string", "null"]}, created_at={"type": ["string", "null"]})
WHOLE_REALM = {
    **REALM,
    "properties": {
        **REALM["properties"],
        "folder": TEXT,
        "bytes": COUNT,
        "config_generation": COUNT,
        "instances": {"type": "array", "items": told(instance_id=TEXT, surface=TEXT, pid=COUNT, since=TEXT)},
    },
}

CREATE: dict[str, Any] = {
    "name": "meerkat_create_session",
    "title": "Create a session",
    "description": (
        "Create a live session and run its agent for a first turn (unless deferred): the built-in one, or a program "
        "on this machine that may change files and use the network."
    ),
    "input_schema": shape(
        [],
        prompt=TEXT,
        initial_turn={"type": "string", "enum": [IMMEDIATE, DEFERRED]},
        labels=LABELS,
        runner=RUNNER,
        command=COMMAND,
        user_id=ID,
        journey_id=ID,
    ),
    "answer_schema": {"anyOf": [RAN, told(session_id=ID)]},
    "routes": (Route(rpc="session/create", http="POST /sessions", headers={"x-device-id": "user_id"}),),
    "writes": True,
    "repeatable": False,
    "runs_programs": True,
    "is_long": True,
}
TURN: dict[str, Any] = {
    "name": "meerkat_start_turn",
    "title": "Run a turn",
    "description": (
        "Run one more turn of a live session with a prompt. Its agent may be a program on this machine that can "
        "change files and use the network. SESSION_BUSY while another turn runs: meerkat_interrupt ends it."
    ),
    "input_schema": shape(["session_id", "prompt"], session_id=UUID, prompt=TEXT, runner=TEXT, command=WORDS),
    "answer_schema": RAN,
    "routes": (Route(rpc="turn/start", http="POST /sessions/{session_id}/messages"),),
    "writes": True,
    "repeatable": False,
    "runs_programs": True,
    "is_long": True,
}
INTERRUPT: dict[str, Any] = {
    "name": "meerkat_interrupt",
    "title": "Interrupt a turn",
    "description": (
        "Cancel the running turn of a live session, whichever process runs it, and wait for its end; "
        "interrupted is false when none runs."
    ),
    "input_schema": shape(["session_id"], session_id=UUID),
    "answer_schema": told(session_id=ID, interrupted={"type": "boolean"}),
    "routes": (Route(rpc="turn/interrupt", http="POST /sessions/{session_id}/interrupt"),),
    "writes": True,
    "is_destructive": True,
    "is_long": True,
}
READ: dict[str, Any] = {
    "name": "meerkat_read",
    "title": "Read a session's state",
    "description": (
        "State, labels and token usage of one live or imported session; is_active while a turn runs, which it never "
        "waits for; also its runner."
    ),
    "input_schema": shape(["session_id"], session_id=UUID),
    "answer_schema": SESSION,
    "routes": (Route(rpc="session/read", http="GET /sessions/{session_id}"),),
}
HISTORY: dict[str, Any] = {
    "name": "meerkat_history",
    "title": "Read a session's messages",
    "description": (
        "Committed messages of a live session, oldest first, by offset and limit; nothing of a turn that still runs. "
        "Archived and imported ones as well."
    ),
    "input_schema": shape(["session_id"], session_id=UUID, offset=OFFSET, limit=LIMIT),
    "answer_schema": told(
        session_id=ID,
        message_count=COUNT,
        offset=COUNT,
        limit=COUNT,
        has_more={"type": "boolean"},
        messages={"type": "array", "items": MESSAGE},
    ),
    "routes": (Route(rpc="session/history", http="GET /sessions/{session_id}/history"),),
}
LIST: dict[str, Any] = {
    "name": "meerkat_list",
    "title": "List live sessions",
    "description": (
        "Live sessions of the realm, the latest used on top, archived ones hidden; labels must all match; with "
        "imported, those of agents too."
    ),
    "input_schema": shape([], labels=LABELS, imported=IMPORTED, offset=OFFSET, limit=LIMIT),
    "answer_schema": told(sessions={"type": "array", "items": SESSION}),
    "routes": (Route(rpc="session/list", http="GET /sessions"),),
}
ARCHIVE: dict[str, Any] = {
    "name": "meerkat_archive",
    "title": "Archive a session",
    "description": (
        "End a live session for good: meerkat_list hides it, and it has no more turns. Its messages stay readable, "
        "and `open` shows them still."
    ),
    "input_schema": shape(["session_id"], session_id=UUID),
    "answer_schema": told(session_id=ID, archived={"type": "boolean"}),
    "routes": (Route(rpc="session/archive", http="DELETE /sessions/{session_id}"),),
    "writes": True,
    "is_destructive": True,
}
LOCATE: dict[str, Any] = {
    "name": "session_locate",
    "title": "Find a session's id",
    "description": "The id of the session that `last`, or the beginning of an id, means.",
    "input_schema": shape(["session_id"], session_id=TEXT),
    "answer_schema": told(session_id=ID),
    "is_tool": False,
}
SETTINGS = {"type": "object"}
CONFIG: dict[str, Any] = {
    "name": "meerkat_config",
    "title": "Realm config",
    "description": (
        "Read (get), replace (set) or change (patch, RFC 7396) the realm's config. Every write raises its "
        "generation by 1; a stale expected_generation writes nothing. No runners over MCP."
    ),
    "input_schema": shape(
        ["action"],
        action={"type": "string", "enum": list(ACTIONS)},
        config=SETTINGS,
        patch=SETTINGS,
        expected_generation=COUNT,
    ),
    "answer_schema": told(config=SETTINGS, generation=COUNT, realm_id=TEXT, instance_id=TEXT, backend=TEXT),
    "routes": (
        Route(rpc="config/get", http="GET /config", implied_arguments={"action": "get"}, input_schema=shape([])),
        Route(
            rpc="config/set",
            http="PUT /config",
            implied_arguments={"action": "set"},
            input_schema=shape(["config"], config=SETTINGS, expected_generation=COUNT),
        ),
        Route(
            rpc="config/patch",
            http="PATCH /config",
            implied_arguments={"action": "patch"},
            input_schema=shape(["patch"], patch=SETTINGS, expected_generation=COUNT),
        ),
    ),
    "writes": True,
    "is_destructive": True,
}
FAILED = {"type": "array", "items": told(realm_id=TEXT, message=TEXT)}
LISTED = told(realms={"type": "array", "items": REALM})
ONE_REALM = shape(["realm_id"], realm_id=TEXT)
REALM_LIST: dict[str, Any] = {
    "name": "realm_list",
    "title": "All realms",
    "description": "Every realm here.",
    "input_schema": shape([]),
    "answer_schema": {**LISTED, "properties": {**LISTED["properties"], "failed": FAILED}},
    "routes": (Route(rpc="realm/list", http="GET /realms"),),
    "is_tool": False,
}
REALM_GET: dict[str, Any] = {
    "name": "realm_get",
    "title": "A realm",
    "description": "What a realm is and holds.",
    "input_schema": ONE_REALM,
    "answer_schema": WHOLE_REALM,
    "routes": (Route(rpc="realm/get", http="GET /realms/{realm_id}"),),
    "is_tool": False,
}
REALM_DELETE: dict[str, Any] = {
    "name": "realm_delete",
    "title": "Delete a realm",
    "description": "Remove a realm with all in it.",
    "input_schema": ONE_REALM,
    "answer_schema": WHOLE_REALM,
    "writes": True,
    "repeatable": False,
    "is_tool": False,
}
REALM_PRUNE: dict[str, Any] = {
    "name": "realm_prune",
    "title": "Delete unused realms",
    "description": "Remove generated realms nobody is at work in.",
    "input_schema": shape([]),
    "answer_schema": told(
        realms={"type": "array", "items": WHOLE_REALM},
        failed=FAILED,
    ),
    "writes": True,
    "is_tool": False,
}
