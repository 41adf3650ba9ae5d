"""What can be requested of the memory family. Error texts are the contract's own."""

import re
from datetime import UTC, datetime
from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta

from recollect.errors import BadRequest
from recollect.model import observation_type
from recollect.operations.parsers import lines, one_line, strings, text
from recollect.operations.schema import Request

MIN_QUERY, MAX_QUERY = 2, 4_096  # characters
MIN_CONCEPTS, MAX_CONCEPTS = 2, 5
MAX_IDS = 20
MAX_EVIDENCE = 50
DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
TYPE = re.compile(r"[a-z][a-z0-9 _-]{0,39}")
OBSERVATION_ID = re.compile(r"obs-([0-9a-f]{16})")


class MemoryRequest(Request):
    publishes_null: ClassVar[bool] = True
    publishes_defaults: ClassVar[bool] = False


def _query(value: Any, _: str) -> str | list[str]:
    if isinstance(value, str):
        return _concept(value)
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise BadRequest("Query must be string or array")
    if not MIN_CONCEPTS <= len(value) <= MAX_CONCEPTS:
        raise BadRequest("Query array must have 2-5 items")
    return [_concept(item) for item in value]


def _concept(value: str) -> str:
    query = value.strip()
    if len(query) < MIN_QUERY:
        raise BadRequest("Query must be at least 2 characters")
    if len(query) > MAX_QUERY:
        raise BadRequest(f"Query must be at most {MAX_QUERY} characters")
    return query


def _day(value: Any, _: str) -> int:
    """The first millisecond of a day."""
    try:
        if not isinstance(value, str) or DAY.fullmatch(value) is None:
            raise ValueError
        return int(datetime.fromisoformat(value).replace(tzinfo=UTC).timestamp()) * 1000
    except ValueError:
        raise BadRequest("Invalid date format") from None


def _strings(description: str) -> Meta:
    return Meta(description=description, extra={"parse": strings}, extra_json_schema=_STRINGS)


def _lines(max_length: int, description: str) -> Meta:
    return Meta(description=description, extra={"parse": lines(max_length)}, extra_json_schema=_STRINGS)


_STRINGS = {"type": ["array", "null"], "items": {"type": "string"}}
_DAY = {"type": ["string", "null"]}


class Search(MemoryRequest):
    """Search memory (layer 1 of 3): recall, remember and find what was learnt in previous sessions, a past conversation or
    session, earlier chats, chat history, session history, transcripts: short observations of what we did, discussed or
    decided and why, yesterday, last week or last time, how we solved a bug or error before, prior work. About 60 tokens
    each plus facts. Next: get_observations with the ids (most questions end there), or read with the path and lines. 2 to
    5 concepts find conversations that hold all of them. Exact words in the history of agents: search_sessions."""

    query: Annotated[
        str | list[str],
        Meta(
            description="One question or concept; or 2 to 5 concepts that a conversation must all hold.",
            extra={"parse": _query},
            extra_json_schema={
                "anyOf": [
                    {"type": "string", "minLength": MIN_QUERY},
                    {"type": "array", "items": {"type": "string"}, "minItems": MIN_CONCEPTS, "maxItems": MAX_CONCEPTS},
                ]
            },
        ),
    ]
    mode: Annotated[
        Literal["vector", "text", "both"] | None,
        Meta(description="By meaning, by exact words (ids, error codes), or both (default)."),
    ] = None
    limit: Annotated[int, Meta(ge=1, le=50, description="{ge} to {le}. Default {default}.")] = 10
    after: Annotated[
        int | None,
        Meta(description="From this day on, YYYY-MM-DD.", extra={"parse": _day}, extra_json_schema=_DAY),
    ] = None
    before: Annotated[
        int | None, Meta(description="Before this day, YYYY-MM-DD.", extra={"parse": _day}, extra_json_schema=_DAY)
    ] = None
    projects: Annotated[tuple[str, ...], _strings("Only these projects, by name.")] = ()
    types: Annotated[
        tuple[str, ...],
        _strings(
            "Only these types, such as decision, bug-fix, pattern, feature, refactor, discovery, diagnosis, test, config."
        ),
    ] = ()
    concepts: Annotated[tuple[str, ...], _strings("Only observations tagged with one of these concepts.")] = ()
    files: Annotated[
        tuple[str, ...],
        _strings("Only observations about one of these files: a name (auth.ts) or the tail of a path."),
    ] = ()
    response_format: Annotated[Literal["markdown", "json"], Meta(description="Default {default}.")] = "markdown"

    def __post_init__(self) -> None:
        only_observations = [name for name in ("types", "concepts", "files") if getattr(self, name)]
        if only_observations and not isinstance(self.query, str):
            named = ", ".join(only_observations)
            raise BadRequest(f"{named} can only be used with a single string query; an array finds conversations")


def _observation_keys(value: Any, _: str) -> list[bytes]:
    if not isinstance(value, list) or not 1 <= len(value) <= MAX_IDS:
        raise BadRequest(f"ids must be an array of 1 to {MAX_IDS} observation IDs")
    return [_observation_key(identity) for identity in value]


def _observation_key(identity: Any) -> bytes:
    match = OBSERVATION_ID.fullmatch(identity) if isinstance(identity, str) else None
    if match is None:
        raise BadRequest(f"Invalid observation ID: {identity}")
    return bytes.fromhex(match[1])


class GetObservations(MemoryRequest):
    """Layer 2 of the memory: the whole of 1 to 20 observations that `search` found, in the order asked for: what happened
    and why, facts, concepts, files, evidence. About 200 to 500 tokens each. Next, only if needed: `read` the path and
    lines it names, or `open` its evidence."""

    ids: Annotated[
        list[bytes],
        Meta(
            description="Ids as returned by search: obs-…",
            extra={"parse": _observation_keys},
            extra_json_schema={"items": {"type": "string"}, "minItems": 1, "maxItems": MAX_IDS},
        ),
    ]


_BAD_LINE = {"expected": "Invalid line range"}


class Read(MemoryRequest):
    """Layer 3 of the memory: the transcript of one conversation as Markdown, tools summed up in a line. 500 to 2,000
    tokens and more: use it only when layers 1 and 2 do not answer, with the lines that search named. Works too when the
    agent has deleted the file since."""

    path: Annotated[
        str, Meta(min_length=1, description="A path exactly as search returned it.", extra={"expected": "File not found"})
    ]
    startLine: Annotated[int, Meta(ge=1, description="First line, from 1. Default 1.", extra=_BAD_LINE)] = 1  # noqa: N815
    endLine: Annotated[  # noqa: N815
        int | None,
        Meta(
            description="Last line, inclusive. Default: to the end.",
            extra={"parse": lambda value, _: _line(value)},
            extra_json_schema={"minimum": 1},
        ),
    ] = None

    def __post_init__(self) -> None:
        if self.endLine is not None and self.endLine < self.startLine:
            raise BadRequest("Invalid line range")


def _line(value: Any) -> int:
    if type(value) is not int or value < 1:
        raise BadRequest("Invalid line range")
    return value


def _type(value: Any, field: str) -> str:
    word = value.strip().lower() if isinstance(value, str) else ""
    if TYPE.fullmatch(word) is None:
        raise BadRequest(f"{field} must be a word such as decision, bug-fix or pattern", field=field)
    return observation_type(word)


def _title(value: Any, field: str) -> str:
    title: str = one_line(120)(value, field)
    if not title:
        raise BadRequest(f"{field} must be a non-empty string", field=field)
    return title


def _evidence(value: Any, field: str) -> list[str]:
    if not isinstance(value, list) or not 1 <= len(value) <= MAX_EVIDENCE or not all(isinstance(one, str) for one in value):
        raise BadRequest(f"{field} must be an array of 1 to {MAX_EVIDENCE} event or turn ids")
    return list(dict.fromkeys(value))


class RecordObservation(MemoryRequest, kw_only=True):
    """Save an observation of your own in the memory: a decision and its reason, the cause and fix of a bug, a pattern
    worth keeping. It must point at its evidence: ids of events or turns as search_sessions and open return them, all of
    one session. Write a short true title and self-contained facts."""

    type: Annotated[
        str,
        Meta(
            description="decision, bug-fix, pattern, feature, refactor, discovery, … or a word of yours.",
            extra={"parse": _type},
        ),
    ]
    title: Annotated[str, Meta(description="What was learnt, in at most 120 characters.", extra={"parse": _title})]
    subtitle: Annotated[str, Meta(description="One sentence more.", extra={"parse": one_line(300)})] = ""
    narrative: Annotated[
        str, Meta(description="What happened and why, at most 4,000 characters.", extra={"parse": text(4_000)})
    ] = ""
    facts: Annotated[tuple[str, ...], _lines(500, "Self-contained facts, one sentence each.")] = ()
    concepts: Annotated[tuple[str, ...], _lines(80, "Tags: technologies, identifiers, topics.")] = ()
    files_read: Annotated[tuple[str, ...], _lines(500, "Files that were read.")] = ()
    files_modified: Annotated[tuple[str, ...], _lines(500, "Files that were changed.")] = ()
    evidence_ids: Annotated[
        list[str],
        Meta(
            description="event:… or turn:… ids that show it.",
            extra={"parse": _evidence},
            extra_json_schema={"items": {"type": "string"}, "minItems": 1},
        ),
    ]
