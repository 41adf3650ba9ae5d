"""Redacts secrets in entries before they are stored."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import msgspec

from recollect.model import Entry, Problem, Record, SessionMetadata
from recollect.redact import count_marks, find_secret_texts, redact, redact_all

NAME_FIELDS = ("cwd", "branch", "model")
RECORD_NAME_FIELDS = (*NAME_FIELDS, "tool")


class EntryRedactor:
    """Redacts the entries of one log. Ids and the path of the log are not changed, because entries are found by them."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}  # a log has few names, so each is redacted once

    def redact(self, entries: list[Entry], texts: list[str]) -> Iterator[tuple[str, Counter[str]]]:
        """Replace secrets in place. `texts` are the texts of the entries. Yields (session, redactions by rule)."""
        for index in find_secret_texts(texts):
            entry = entries[index] = _redacted(entries[index])
            if isinstance(entry, Record):
                yield entry.session, count_marks(text_of(entry))
        for entry in entries:
            if isinstance(entry, Record | SessionMetadata):
                self._redact_names(entry)

    def _redact_names(self, entry: Record | SessionMetadata) -> None:
        for field in RECORD_NAME_FIELDS if isinstance(entry, Record) else NAME_FIELDS:
            name = getattr(entry, field)
            if name is None:
                continue
            if name not in self._names:
                self._names[name] = redact(name)
            if self._names[name] != name:
                setattr(entry, field, self._names[name])


def text_of(entry: Entry) -> str:
    """All texts of an entry that are stored, as one text."""
    if isinstance(entry, Record):
        return entry.text + msgspec.json.encode(entry.arguments).decode() if entry.arguments else entry.text
    if isinstance(entry, SessionMetadata):
        return entry.title or ""
    return f"{entry.reason}\n{entry.excerpt}" if isinstance(entry, Problem) else ""


def _redacted(entry: Entry) -> Entry:
    if isinstance(entry, Record):
        entry.text = redact(entry.text)
        entry.arguments = _redacted_arguments(entry.arguments) if entry.arguments else entry.arguments
    elif isinstance(entry, SessionMetadata):
        entry.title = redact(entry.title or "")
    elif isinstance(entry, Problem):
        return msgspec.structs.replace(entry, excerpt=redact(entry.excerpt), reason=redact(entry.reason))
    return entry


def _redacted_arguments(arguments: dict[str, Any]) -> dict[str, Any]:
    try:
        redacted: dict[str, Any] = redact_all(arguments)
    except RecursionError:  # nested hundreds of levels deep: store it as one text
        return {"input": redact(msgspec.json.encode(arguments).decode())}
    return redacted
