"""Applies the current redaction rules to everything that leaves the archive, and counts what they replaced.

Text is redacted before it is stored. The rules may have become better since then, so they are applied again.
"""

from collections.abc import Sequence
from typing import Any, TypeVar

import msgspec

from recollect.export.receipt import Receipt
from recollect.label import call_text
from recollect.library_answers import FileEntry, LibraryEvent, LibrarySession, LibraryTurn, Match
from recollect.observe.diffs import unified_diff
from recollect.redact import count_marks, find_secret_texts, redact, redact_all

Part = TypeVar("Part", LibrarySession, LibraryTurn, FileEntry, Match)

TEXT_FIELDS = {
    LibrarySession: ("native_id", "title", "project", "folder", "branch", "note", "outcome", "path"),
    LibraryTurn: ("prompt",),
    FileEntry: ("path", "project"),
    Match: ("text",),
}


class ExportRedactor:
    """Redacts the parts of a document, and counts in its receipt. Only events are counted: other texts repeat them."""

    def __init__(self, receipt: Receipt) -> None:
        self.receipt = receipt
        self._names: dict[str, str] = {}

    def redact(self, part: Part) -> Part:
        """The same without secrets."""
        values = {field: getattr(part, field) for field in TEXT_FIELDS[type(part)]}
        changed: dict[str, Any] = {name: new for name, value in values.items() if value and (new := redact(value)) != value}
        if changed and isinstance(part, Match):
            changed["offsets"] = []  # they are places in the text that was
        return msgspec.structs.replace(part, **changed) if changed else part

    def redact_events(self, events: Sequence[LibraryEvent]) -> list[LibraryEvent]:
        """The same events without secrets."""
        redacted = list(events)
        for index in find_secret_texts([_stored_text(event) for event in events]):
            event = events[index]
            before = count_marks(_stored_text(event))
            redacted[index] = event = _without_secrets(event)
            self.receipt.redacted_when_stored += before
            self.receipt.redacted_now += count_marks(_stored_text(event)) - before
        for index, event in enumerate(redacted):
            if event.note or event.tool:
                redacted[index] = self._with_clean_names(event)
        self.receipt.events += len(events)
        return redacted

    def _with_clean_names(self, event: LibraryEvent) -> LibraryEvent:
        note, tool = self._name(event.note), self._name(event.tool)
        return event if (note, tool) == (event.note, event.tool) else msgspec.structs.replace(event, note=note, tool=tool)

    def _name(self, text: str | None) -> str | None:
        """A short text without secrets. A session has few names, so each is redacted once."""
        if text is None:
            return None
        if text not in self._names:
            self._names[text] = redact(text)
        return self._names[text]


def _stored_text(event: LibraryEvent) -> str:
    """The text of an event as the archive stores it: a call has its arguments, of which text and diff are made."""
    return event.text if event.arguments is None else msgspec.json.encode(event.arguments).decode()


def _without_secrets(event: LibraryEvent) -> LibraryEvent:
    if event.arguments is None:
        return msgspec.structs.replace(event, text=redact(event.text))
    arguments = _redacted_arguments(event.arguments)
    diff = unified_diff(event.tool, arguments) if event.diff is not None else None
    return msgspec.structs.replace(event, arguments=arguments, text=call_text(event.tool, arguments), diff=diff)


def _redacted_arguments(arguments: dict[str, Any]) -> dict[str, Any]:
    try:
        redacted: dict[str, Any] = redact_all(arguments)
    except RecursionError:  # nested hundreds of levels deep: write it as one text
        return {"input": redact(msgspec.json.encode(arguments).decode())}
    return redacted
