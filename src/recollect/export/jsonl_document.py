"""Sessions as JSON lines: a line for the session, then a line for each of its events, whole."""

from collections.abc import Iterator, Sequence

import msgspec

from recollect.display import escape_json
from recollect.export.redactor import ExportRedactor
from recollect.export.session_content import SessionContent
from recollect.library_answers import LibrarySession


class JsonlDocument:
    """Writes JSON lines for sessions, one after the other."""

    def __init__(self, redactor: ExportRedactor) -> None:
        self._redactor = redactor

    def begin(self, sessions: Sequence[LibrarySession]) -> Iterator[str]:
        return iter(())

    def session(self, number: int, content: SessionContent) -> Iterator[str]:
        yield _line({"type": "session", **msgspec.structs.asdict(content.session)})
        for batch in content.events:
            yield "".join(map(_line, self._redactor.redact_events(batch)))

    def end(self) -> Iterator[str]:
        return iter(())


def _line(value: object) -> str:
    """A value on one line. Characters that could act on a terminal are escaped, so the value is the same."""
    return f"{escape_json(msgspec.json.encode(value).decode())}\n"
