"""OTLP JSON, as OpenTelemetry exporters write it to files: one request per file or per line, with spans or log records.

A span is written when it has ended, so a parent comes after its children, and a conversation may continue in the next file
of its folder. A span, its events and the log records that name it are joined into one `Operation`.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from msgspec import Struct

from recollect.model import Problem
from recollect.sources.formats.container import Unreadable, WrongShape
from recollect.sources.formats.head import Head
from recollect.sources.formats.json import decode_or_none, json_document
from recollect.sources.formats.jsonl import EXCERPT, json_lines

ENDINGS = (".json", ".jsonl")
START = 4_096  # bytes at a file's start: the first resource, which names the service
REQUEST = re.compile(rb'(?:\xef\xbb\xbf)?\s*\{\s*"resource(?:Spans|Logs)"\s*:')
REQUESTS = {"resourceSpans", "resourceLogs"}
DEEPEST = 50  # levels of nesting of an attribute's value
FAILED = (2, "2", "STATUS_CODE_ERROR")


class Event(Struct, rename="camel"):
    name: Any = None
    attributes: Any = None


class Span(Struct, rename="camel"):
    trace_id: Any = None
    span_id: Any = None
    parent_span_id: Any = None
    name: Any = None
    start_time_unix_nano: Any = None
    end_time_unix_nano: Any = None
    attributes: Any = None
    events: list[Event] | None = None
    status: Any = None


class LogRecord(Struct, rename="camel"):
    trace_id: Any = None
    span_id: Any = None
    time_unix_nano: Any = None
    observed_time_unix_nano: Any = None
    event_name: Any = None
    body: Any = None
    attributes: Any = None


class Scope(Struct, rename="camel"):
    spans: list[Span] | None = None
    log_records: list[LogRecord] | None = None


class Resource(Struct):
    attributes: Any = None


class Resources(Struct, rename="camel"):
    resource: Resource | None = None
    scope_spans: list[Scope] | None = None
    scope_logs: list[Scope] | None = None


class Request(Struct, rename="camel"):
    resource_spans: list[Resources] | None = None
    resource_logs: list[Resources] | None = None


class Place(Struct, frozen=True):
    """A request and its line."""

    line: int
    request: Request


class Note(Struct):
    """An event of a span, or a log record that names it."""

    name: str
    attributes: dict[str, Any]
    body: Any = None


class Operation(Struct):
    """One span with all of its data. Times are in nanoseconds; 0 is unknown."""

    trace: str
    span: str
    parent: str = ""
    name: str = ""
    started: int = 0
    ended: int = 0
    attributes: dict[str, Any] = {}
    notes: list[Note] = []
    error: str | None = None
    line: int = 0


SpanKey = tuple[str, str]


@dataclass(frozen=True)
class Folder:
    """The files of one folder that are read together. The first one represents all."""

    is_ours: Callable[[Path, bytes], bool]
    """Whether a file of requests is of this kind, by its path and beginning."""

    def recognises(self, head: Head) -> bool:
        """Whether a file is of this kind. It is opened again only if its start may be a request."""
        return (not head.values or not REQUESTS.isdisjoint(head.first())) and self.has(head.path)

    def has(self, path: Path) -> bool:
        try:
            with path.open("rb") as stream:
                start = stream.read(START)
        except OSError:
            return False
        return REQUEST.match(start) is not None and self.is_ours(path, start)

    def first(self, path: Path) -> Path | None:
        return next(self._files(path), None)

    def is_log(self, path: Path) -> bool:
        return self.first(path) == path

    def others(self, log: Path) -> list[Path]:
        return [path for path in self._files(log) if path != log]

    def requests(self, log: Path) -> Iterator[Place | Problem]:
        for path in sorted([log, *self.others(log)]):
            try:
                yield from _requests(path)
            except Unreadable as reason:
                yield Problem(path, reason.line, reason.reason, reason.excerpt)
            except FileNotFoundError:
                continue

    def _files(self, path: Path) -> Iterator[Path]:
        try:
            siblings = sorted(file for file in path.parent.iterdir() if file.name.endswith(ENDINGS))
        except OSError:
            siblings = []
        return (file for file in siblings if self.has(file))


def _requests(path: Path) -> Iterator[Place | Problem]:
    with path.open("rb") as stream:
        first = stream.readline()
    if decode_or_none(first, dict) is None:
        yield Place(1, json_document(Request)(path))
        return
    for line in json_lines(Request)(path):
        if isinstance(line, Problem):
            yield line
        elif isinstance(line.value, WrongShape):
            excerpt = line.raw[:EXCERPT].decode("utf-8", "replace")
            yield Problem(path, line.number, "has an unknown shape", excerpt)
        else:
            yield Place(line.number, line.value)


def operations(places: Iterable[Place | Problem]) -> tuple[dict[SpanKey, Operation], list[Problem]]:
    """The operations in the order in which they were written. A repeated span counts as it was written last."""
    found: dict[SpanKey, Operation] = {}
    problems: list[Problem] = []
    for place in places:
        if isinstance(place, Problem):
            problems.append(place)
            continue
        for resources in place.request.resource_spans or []:
            shared = _shared(resources)
            for span in (span for scope in resources.scope_spans or [] for span in scope.spans or []):
                _take_span(found, span, shared, place.line)
        for resources in place.request.resource_logs or []:
            shared = _shared(resources)
            for log in (log for scope in resources.scope_logs or [] for log in scope.log_records or []):
                _take_log(found, log, shared, place.line)
    return found, problems


def _shared(resources: Resources) -> dict[str, Any]:
    """The attributes of a resource that apply to all of its spans."""
    named = attributes_of(resources.resource.attributes if resources.resource else None)
    return {"session.id": named["session.id"]} if named.get("session.id") else {}


def _take_span(found: dict[SpanKey, Operation], span: Span, shared: dict[str, Any], line: int) -> None:
    operation = _operation(found, span.trace_id, span.span_id, line)
    operation.parent = _text(span.parent_span_id) or operation.parent
    operation.name = _text(span.name) or operation.name
    operation.started = _integer(span.start_time_unix_nano) or operation.started
    operation.ended = max(_integer(span.end_time_unix_nano), operation.ended)
    operation.attributes = {**operation.attributes, **shared, **attributes_of(span.attributes)}
    notes = [Note(_text(event.name), attributes_of(event.attributes)) for event in span.events or []]
    operation.notes = operation.notes if notes == operation.notes else [*operation.notes, *notes]
    operation.error = _error(span, operation) or operation.error


def _take_log(found: dict[SpanKey, Operation], log: LogRecord, shared: dict[str, Any], line: int) -> None:
    attributes = attributes_of(log.attributes)
    session = str(attributes.get("gen_ai.conversation.id") or attributes.get("session.id") or shared.get("session.id", ""))
    at = _integer(log.time_unix_nano) or _integer(log.observed_time_unix_nano)
    trace, span = _text(log.trace_id) or session, _text(log.span_id) or f"@{at}.{line}"
    operation = _operation(found, trace, span, line)
    operation.started = operation.started or at
    operation.ended = max(operation.ended, at)
    operation.attributes = {**shared, **operation.attributes}
    name = _text(log.event_name) or _text(attributes.get("event.name"))
    note = Note(name, attributes, plain(log.body))
    operation.notes = operation.notes if note in operation.notes else [*operation.notes, note]


def _operation(found: dict[SpanKey, Operation], trace: Any, span: Any, line: int) -> Operation:
    key = (_text(trace), _text(span) or f"@{line}.{len(found)}")
    return found.setdefault(key, Operation(*key, line=line))


def _error(span: Span, operation: Operation) -> str | None:
    """Why an operation failed; None if it did not."""
    status = span.status if isinstance(span.status, dict) else {}
    kind = operation.attributes.get("error.type")
    if status.get("code") not in FAILED and not kind:
        return None
    messages = [note.attributes.get("exception.message") for note in operation.notes if note.name == "exception"]
    words = [_text(word) for word in (kind, status.get("message") or next(iter(messages), None))]
    return ": ".join(word for word in words if word) or "error"


def attributes_of(pairs: Any) -> dict[str, Any]:
    """Attributes as an object, from OTLP's list `[{"key": …, "value": {"stringValue": …}}]`."""
    pairs = pairs if isinstance(pairs, list) else []
    return {
        pair["key"]: plain(pair.get("value"))
        for pair in pairs
        if isinstance(pair, dict) and isinstance(pair.get("key"), str)
    }


def plain(value: Any, depth: int = 0) -> Any:
    """The plain value of an OTLP value. An integer may be written as text."""
    match value:
        case _ if depth > DEEPEST:
            return None
        case {"arrayValue": {"values": list(items)}}:
            return [plain(item, depth + 1) for item in items]
        case {"kvlistValue": {"values": list(items)}}:
            pairs = [item for item in items if isinstance(item, dict)]
            return {str(pair.get("key")): plain(pair.get("value"), depth + 1) for pair in pairs}
        case {"intValue": number}:
            return _integer(number)
        case dict() if len(value) == 1:
            (packed,) = value.values()
            return packed if isinstance(packed, str | bool | int | float) else None
        case _:
            return None


def _integer(value: Any) -> int:
    """An integer that may be written as text; 0 for anything else."""
    if isinstance(value, str) and value.lstrip("-").isdecimal() and len(value) <= 20:
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
