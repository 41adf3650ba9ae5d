"""What the memory tools say of themselves, to a model that has to choose between them."""

from typing import Any

_STRINGS = {"type": ["array", "null"], "items": {"type": "string"}}
_TEXT_OR_NULL = {"type": ["string", "null"]}


def _strings(description: str) -> dict[str, Any]:
    return {**_STRINGS, "description": description}


def _object(required: list[str], **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


SEARCH: dict[str, Any] = {
    "name": "search",
    "title": "Search what was learnt (layer 1 of 3)",
    "description": (
        "Search memory (layer 1 of 3): recall, remember and find what was learnt in previous sessions, a past "
        "conversation or session, earlier chats, chat history, session history, transcripts: short observations of "
        "what we did, discussed or decided and why, yesterday, last week or last time, how we solved a bug or error "
        "before, prior work. About 60 tokens each plus facts. Next: get_observations with the ids (most questions end"
        " there), or read with the path and lines. 2 to 5 concepts find conversations that hold all of them. Exact "
        "words in the history of agents: search_sessions."
    ),
    "input_schema": _object(
        ["query"],
        query={
            "anyOf": [
                {"type": "string", "minLength": 2},
                {"type": "array", "items": {"type": "string"}, "minItems": 2, "maxItems": 5},
            ],
            "description": "One question or concept; or 2 to 5 concepts that a conversation must all hold.",
        },
        mode={
            "type": ["string", "null"],
            "enum": ["vector", "text", "both", None],
            "description": "By meaning, by exact words (ids, error codes), or both (default).",
        },
        limit={"type": ["integer", "null"], "minimum": 1, "maximum": 50, "description": "1 to 50. Default 10."},
        after={**_TEXT_OR_NULL, "description": "From this day on, YYYY-MM-DD."},
        before={**_TEXT_OR_NULL, "description": "Before this day, YYYY-MM-DD."},
        projects=_strings("Only these projects, by name."),
        types=_strings(
            "Only these types, such as decision, bug-fix, pattern, feature, refactor, discovery, diagnosis, test, config."
        ),
        concepts=_strings("Only observations tagged with one of these concepts."),
        files=_strings("Only observations about one of these files: a name (auth.ts) or the tail of a path."),
        response_format={"type": ["string", "null"], "enum": ["markdown", "json", None], "description": "Default markdown."},
    ),
}

GET_OBSERVATIONS: dict[str, Any] = {
    "name": "get_observations",
    "title": "Open observations (layer 2 of 3)",
    "description": (
        "Layer 2 of the memory: the whole of 1 to 20 observations that `search` found, in the order asked for: what "
        "happened and why, facts, concepts, files, evidence. About 200 to 500 tokens each. Next, only if needed: "
        "`read` the path and lines it names, or `open` its evidence."
    ),
    "input_schema": _object(
        ["ids"],
        ids={
            "type": "array",
            "items": {"type": "string"},
            "minItems": 1,
            "maxItems": 20,
            "description": "Ids as returned by search: obs-…",
        },
    ),
}

READ: dict[str, Any] = {
    "name": "read",
    "title": "Read a conversation (layer 3 of 3)",
    "description": (
        "Layer 3 of the memory: the transcript of one conversation as Markdown, tools summed up in a line. 500 to "
        "2,000 tokens and more: use it only when layers 1 and 2 do not answer, with the lines that search named. "
        "Works too when the agent has deleted the file since."
    ),
    "input_schema": _object(
        ["path"],
        path={"type": "string", "description": "A path exactly as search returned it."},
        startLine={"type": ["integer", "null"], "minimum": 1, "description": "First line, from 1. Default 1."},
        endLine={"type": ["integer", "null"], "minimum": 1, "description": "Last line, inclusive. Default: to the end."},
    ),
}

RECORD: dict[str, Any] = {
    "name": "record_observation",
    "title": "Remember an insight",
    "description": (
        "Save an observation of your own in the memory: a decision and its reason, the cause and fix of a bug, a "
        "pattern worth keeping. It must point at its evidence: ids of events or turns as search_sessions and open "
        "return them, all of one session. Write a short true title and self-contained facts."
    ),
    "input_schema": _object(
        ["type", "title", "evidence_ids"],
        type={
            "type": "string",
            "description": "decision, bug-fix, pattern, feature, refactor, discovery, … or a word of yours.",
        },
        title={"type": "string", "description": "What was learnt, in at most 120 characters."},
        subtitle={**_TEXT_OR_NULL, "description": "One sentence more."},
        narrative={**_TEXT_OR_NULL, "description": "What happened and why, at most 4,000 characters."},
        facts=_strings("Self-contained facts, one sentence each."),
        concepts=_strings("Tags: technologies, identifiers, topics."),
        files_read=_strings("Files that were read."),
        files_modified=_strings("Files that were changed."),
        evidence_ids={
            "type": "array",
            "items": {"type": "string"},
            "minItems": 1,
            "description": "event:… or turn:… ids that show it.",
        },
    ),
    "writes": True,
}
