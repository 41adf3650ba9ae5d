"""Reads OTLP JSON, as OpenTelemetry exporters write it to files: one request with spans or log records per file or line.

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
from recollect.sources.formats.values import as_object

ENDINGS = (".json", ".jsonl")
START = 4_096  # bytes at a file's start: the first resource, which names the service
REQUEST = re.compile(rb'(?:\xef\xbb\xbf)?\s*\{\s*"resource(?:Spans|Logs)"\s*:')
REQUESTS = {"resourceSpans", "resourceLogs"}
MAX_DEPTH = 50  # levels of nesting of an attribute's value
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


class RequestLine(Struct, frozen=True):
    """A request and the number of its line."""

    line: int
    request: Request


class SpanEvent(Struct):
    """An event of a span, or a log record that names the span."""

    name: str
    attributes: dict[str, Any]
    body: Any = None


class Operation(Struct):
    """A span with its events. Times are in nanoseconds; 0 is unknown."""

    trace: str
    span: str
    parent: str = ""
    name: str = ""
    started: int = 0
    ended: int = 0
    attributes: dict[str, Any] = {}
    events: list[SpanEvent] = []
    error: str | None = None
    line: int = 0


SpanKey = tuple[str, str]


@dataclass(frozen=True)
class Folder:
    """The files of one folder, which are read together. The first file represents all of them."""

    is_ours: Callable[[Path, bytes], bool]
    """Whether a file of requests is of this kind, judged by its path and its start."""

    def recognises(self, head: Head) -> bool:
        """Whether a file is of this kind. It is opened again only if its head may be a request."""
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

    def requests(self, log: Path) -> Iterator[RequestLine | Problem]:
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


def _requests(path: Path) -> Iterator[RequestLine | Problem]:
    with path.open("rb") as stream:
        first = stream.readline()
    if decode_or_none(first, dict) is None:
        yield RequestLine(1, json_document(Request)(path))
        return
    for line in json_lines(Request)(path):
        if isinstance(line, Problem):
            yield line
        elif isinstance(line.value, WrongShape):
            excerpt = line.raw[:EXCERPT].decode("utf-8", "replace")
            yield Problem(path, line.number, "has an unknown shape", excerpt)
        else:
            yield RequestLine(line.number, line.value)


def read_operations(requests: Iterable[RequestLine | Problem]) -> tuple[dict[SpanKey, Operation], list[Problem]]:
    """The operations in the order in which they were written. Of a repeated span, the last version counts."""
    operations: dict[SpanKey, Operation] = {}
    problems: list[Problem] = []
    for request_line in requests:
        if isinstance(request_line, Problem):
            problems.append(request_line)
            continue
        for resources in request_line.request.resource_spans or []:
            shared = _shared(resources)
            for span in (span for scope in resources.scope_spans or [] for span in scope.spans or []):
                _add_span(operations, span, shared, request_line.line)
        for resources in request_line.request.resource_logs or []:
            shared = _shared(resources)
            for log in (log for scope in resources.scope_logs or [] for log in scope.log_records or []):
                _add_log(operations, log, shared, request_line.line)
    return operations, problems


def _shared(resources: Resources) -> dict[str, Any]:
    """The attributes of a resource that apply to all of its spans."""
    attributes = attributes_of(resources.resource.attributes if resources.resource else None)
    return {"session.id": attributes["session.id"]} if attributes.get("session.id") else {}


def _add_span(operations: dict[SpanKey, Operation], span: Span, shared: dict[str, Any], line: int) -> None:
    operation = _operation(operations, span.trace_id, span.span_id, line)
    operation.parent = _text(span.parent_span_id) or operation.parent
    operation.name = _text(span.name) or operation.name
    operation.started = _integer(span.start_time_unix_nano) or operation.started
    operation.ended = max(_integer(span.end_time_unix_nano), operation.ended)
    operation.attributes = {**operation.attributes, **shared, **attributes_of(span.attributes)}
    events = [SpanEvent(_text(event.name), attributes_of(event.attributes)) for event in span.events or []]
    operation.events = operation.events if events == operation.events else [*operation.events, *events]
    operation.error = _error(span, operation) or operation.error


def _add_log(operations: dict[SpanKey, Operation], log: LogRecord, shared: dict[str, Any], line: int) -> None:
    attributes = attributes_of(log.attributes)
    session = str(attributes.get("gen_ai.conversation.id") or attributes.get("session.id") or shared.get("session.id", ""))
    at = _integer(log.time_unix_nano) or _integer(log.observed_time_unix_nano)
    trace, span = _text(log.trace_id) or session, _text(log.span_id) or f"@{at}.{line}"
    operation = _operation(operations, trace, span, line)
    operation.started = operation.started or at
    operation.ended = max(operation.ended, at)
    operation.attributes = {**shared, **operation.attributes}
    name = _text(log.event_name) or _text(attributes.get("event.name"))
    event = SpanEvent(name, attributes, plain(log.body))
    operation.events = operation.events if event in operation.events else [*operation.events, event]


def _operation(operations: dict[SpanKey, Operation], trace: Any, span: Any, line: int) -> Operation:
    """The operation of a span, created if it is new."""
    key = (_text(trace), _text(span) or f"@{line}.{len(operations)}")
    return operations.setdefault(key, Operation(*key, line=line))


def _error(span: Span, operation: Operation) -> str | None:
    """The error of an operation; None if it did not fail."""
    status = as_object(span.status)
    kind = operation.attributes.get("error.type")
    if status.get("code") not in FAILED and not kind:
        return None
    messages = [event.attributes.get("exception.message") for event in operation.events if event.name == "exception"]
    parts = [_text(part) for part in (kind, status.get("message") or next(iter(messages), None))]
    return ": ".join(part for part in parts if part) or "error"


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
        case _ if depth > MAX_DEPTH:
            return None
        case {"arrayValue": {"values": list(items)}}:
            return [plain(item, depth + 1) for item in items]
        case {"kvlistValue": {"values": list(items)}}:
            pairs = [item for item in items if isinstance(item, dict)]
            return {str(pair.get("key")): plain(pair.get("value"), depth + 1) for pair in pairs}
        case {"intValue": number}:
            return _integer(number)
        case dict() if len(value) == 1:
            (inner,) = value.values()
            return inner if isinstance(inner, str | bool | int | float) else None
        case _:
            return None


def _integer(value: Any) -> int:
    """An integer that may be written as text; 0 for anything else."""
    if isinstance(value, str) and value.lstrip("-").isdecimal() and len(value) <= 20:
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
