"""Live sessions as readable files, one a session: in realms that are kept as JSON Lines, these are the truth.

A file begins with a line that says what the session is. A turn adds its messages and then a line of what the session has
come to; only that line makes them committed. What a crash left behind the last such line was never committed, and the next
turn is written over it.
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
OWN = ("id", "changed", "bytes")  # of a row, what a file does not tell or tells otherwise
HEAD = b'{"type":"message",'

log = logging.getLogger(__name__)


class TranscriptState(Struct):
    """What a file says."""

    row: LiveRow
    messages: list[bytes]


def transcript_path(realm: Path, session: bytes) -> Path:
    return realm / f"{uuid.UUID(bytes=session)}.jsonl"


class Transcripts:
    """The files of a realm."""

    def __init__(self, realm: Path) -> None:
        self.realm = realm

    def exist(self) -> bool:
        return any(_session_of(path) is not None for path in self.realm.glob("*.jsonl"))

    def append(self, row: LiveRow, messages: Sequence[bytes], *, durable: bool = False) -> None:
        """Write a session on, behind what is committed of it; `row` learns how long its file is."""
        state = _state(COMMITTED if row.bytes else BEGUN, row)
        row.bytes = self._write(row, [*(HEAD + body[1:] for body in messages), state], durable=durable)

    def _write(self, row: LiveRow, lines: Sequence[bytes], *, durable: bool = False) -> int:
        """How long the file is with these lines behind what is committed."""
        return append_lines(transcript_path(self.realm, row.id), row.bytes, lines, durable=durable)

    def sync_all(self, live: Live) -> None:
        """Make the database say what the files do, as far as it does not. To be called inside a transaction."""
        known = live.sizes()
        for path in self.realm.glob("*.jsonl"):
            session = _session_of(path)
            if session is None:
                continue
            try:
                if known.pop(session, -1) != file_size(path):
                    self._load(live, session, path)
            except StoreFault as fault:  # it costs this session, and only for as long as it cannot be read
                log.warning("%s", fault)
        for session in known:
            live.remove(session)

    def sync_session(self, live: Live, session: bytes) -> None:
        """The same for one session."""
        path = transcript_path(self.realm, session)
        known = live.session(session)
        size = file_size(path)
        if size is not None and (known is None or known.bytes != size):
            self._load(live, session, path)
        elif size is None and known is not None:
            live.remove(session)

    def _load(self, live: Live, session: bytes, path: Path) -> None:
        told, known = read_transcript(path, session), live.session(session)
        if told is None and known is not None:
            self._restore(live, known)
        elif told is not None and (known is None or told.row.bytes != known.bytes):
            live.replace(told.row, told.messages)

    def _restore(self, live: Live, row: LiveRow) -> None:
        """Write a file anew that says nothing of its session any more, as a disk may leave it that lost its power."""
        messages = live.messages(row.id, 0, row.messages)
        row.bytes = 0
        row.bytes = self._write(row, [_state(BEGUN, row), *(HEAD + body[1:] for body in messages), _state(COMMITTED, row)])
        live.put(row)


def _state(line_type: str, row: LiveRow) -> bytes:
    """The line of what a session is, or has come to."""
    fields = {name: value for name, value in msgspec.to_builtins(row).items() if name not in OWN}
    return msgspec.json.encode({"type": line_type, "session_id": str(uuid.UUID(bytes=row.id)), **fields})


def read_transcript(path: Path, session: bytes) -> TranscriptState | None:
    """What is committed of a session, by its file; None of a file that is none of ours."""
    told: TranscriptState | None = None
    waiting: list[bytes] = []
    for end, line in read_objects(path):
        match line.pop("type", None):
            case str(line_type) if line_type in (BEGUN, COMMITTED):
                row = _row(line, session)
                if row is None:
                    continue
                row.bytes = end
                told = TranscriptState(row, [*(told.messages if told else []), *waiting])
                waiting = []
            case "message":
                waiting.append(msgspec.json.encode(line))
    return told


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
