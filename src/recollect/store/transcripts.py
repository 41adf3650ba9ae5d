"""Live sessions as JSONL files, one per session. In a `jsonl` realm they are the truth.

A file starts with a line that describes the session. A turn adds its messages, then a line with the session's new state.
Only that line commits them. A crash can leave lines after the last such line; the next turn overwrites them.
"""

import logging
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from recollect.errors import StoreFault
from recollect.store.jsonl_file import append_lines, file_size, read_objects
from recollect.store.live import Live, LiveRow

BEGUN, COMMITTED, MESSAGE = "session", "turn", "message"
DATABASE_FIELDS = ("id", "changed", "bytes")  # fields of a row that a file does not have, or has in another form
MESSAGE_START = b'{"type":"message",'

log = logging.getLogger(__name__)


class TranscriptState(Struct):
    """The committed content of a file."""

    row: LiveRow
    messages: list[bytes]


def transcript_path(realm: Path, session: bytes) -> Path:
    return realm / f"{uuid.UUID(bytes=session)}.jsonl"


class Transcripts:
    """The transcript files of a realm."""

    def __init__(self, realm: Path) -> None:
        self.realm = realm

    def exist(self) -> bool:
        return any(_session_of(path) is not None for path in self.realm.glob("*.jsonl"))

    def append(self, row: LiveRow, messages: Sequence[bytes], *, durable: bool = False) -> None:
        """Append messages and the session's new state to its file. Sets `row.bytes` to the new size."""
        state = _state(COMMITTED if row.bytes else BEGUN, row)
        row.bytes = self._write(row, [*(MESSAGE_START + body[1:] for body in messages), state], durable=durable)

    def remove(self, session: bytes) -> None:
        """Delete the file of a session."""
        transcript_path(self.realm, session).unlink(missing_ok=True)

    def _write(self, row: LiveRow, lines: Sequence[bytes], *, durable: bool = False) -> int:
        """Write lines after the committed ones. Returns the new size of the file."""
        return append_lines(transcript_path(self.realm, row.id), row.bytes, lines, durable=durable)

    def sync_all(self, live: Live) -> None:
        """Load all changed files into the database. Call it inside a transaction."""
        sizes = live.sizes()
        for path in self.realm.glob("*.jsonl"):
            session = _session_of(path)
            if session is None:
                continue
            try:
                if sizes.pop(session, -1) != file_size(path):
                    self._load(live, session, path)
            except StoreFault as fault:  # other sessions are loaded now, this one when it can be read
                log.warning("%s", fault)
        for session in sizes:  # their files are gone
            live.remove(session)

    def sync_session(self, live: Live, session: bytes) -> None:
        """Load the file of one session, if it changed. Call it inside a transaction."""
        path = transcript_path(self.realm, session)
        row = live.session(session)
        size = file_size(path)
        if size is not None and (row is None or row.bytes != size):
            self._load(live, session, path)
        elif size is None and row is not None:
            live.remove(session)

    def _load(self, live: Live, session: bytes, path: Path) -> None:
        transcript, row = read_transcript(path, session), live.session(session)
        if transcript is None and row is not None:
            self._restore(live, row)
        elif transcript is not None and (row is None or transcript.row.bytes != row.bytes):
            live.replace(transcript.row, transcript.messages)

    def _restore(self, live: Live, row: LiveRow) -> None:
        """Write a file again that lost its content, for example in a power failure."""
        messages = live.messages(row.id, 0, row.messages)
        row.bytes = 0
        lines = [_state(BEGUN, row), *(MESSAGE_START + body[1:] for body in messages), _state(COMMITTED, row)]
        row.bytes = self._write(row, lines)
        live.put(row)


def _state(line_type: str, row: LiveRow) -> bytes:
    """The line with the state of a session."""
    fields = {name: value for name, value in msgspec.to_builtins(row).items() if name not in DATABASE_FIELDS}
    return msgspec.json.encode({"type": line_type, "session_id": str(uuid.UUID(bytes=row.id)), **fields})


def read_transcript(path: Path, session: bytes) -> TranscriptState | None:
    """The committed content of a session's file; None if the file is not a transcript."""
    transcript: TranscriptState | None = None
    uncommitted: list[bytes] = []
    for end, line in read_objects(path):
        match line.pop("type", None):
            case str(line_type) if line_type in (BEGUN, COMMITTED):
                row = _row(line, session)
                if row is None:
                    continue
                row.bytes = end
                transcript = TranscriptState(row, [*(transcript.messages if transcript else []), *uncommitted])
                uncommitted = []
            case "message":
                uncommitted.append(msgspec.json.encode(line))
    return transcript


def _row(line: dict[str, Any], session: bytes) -> LiveRow | None:
    line.pop("session_id", None)
    try:
        row = msgspec.convert({**line, "id": b""}, LiveRow)
    except msgspec.ValidationError:
        return None
    row.id = session
    return row


def _session_of(path: Path) -> bytes | None:
    try:
        session = uuid.UUID(path.stem)
    except ValueError:
        return None
    return session.bytes if str(session) == path.stem else None
