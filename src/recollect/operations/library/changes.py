"""Which sessions of a realm changed since a position: what `GET /library/stream` sends."""

from typing import Any

from msgspec import Struct

from recollect.live import LiveRealm
from recollect.model import timestamp
from recollect.operations.ids import session_ref, uuid_text

MAX_CHANGED = 500  # sessions: a reader that missed more loads its page again


class Position(Struct, frozen=True):
    """A state of the archive. Its text is the id of an event in the stream."""

    archive: str  # the beginning of the archive's identity: another archive has other keys
    last_key: int
    sessions: int

    def __str__(self) -> str:
        return f"{self.archive}.{self.last_key}.{self.sessions}"


class Changes(Struct, frozen=True):
    """The messages for a reader, and the position after them."""

    messages: list[dict[str, Any]]
    position: Position


def parse_position(text: str) -> Position | None:
    """The position that an id of the stream names; None if it is not one."""
    archive, *numbers = text.split(".")
    if len(numbers) != 2 or not all(number.isdecimal() and len(number) < 19 for number in numbers):
        return None
    return Position(archive, int(numbers[0]), int(numbers[1]))


def changes_since(realm: LiveRealm, position: Position | None) -> Changes:
    """What changed since a position; without one, only where the archive is now."""
    with realm.open_archive() as reader:
        identity, last_key, sessions = reader.progress()
        now = Position(identity[:8], last_key, sessions)
        if position is None:
            return Changes([{"type": "ready"}], now)
        if position == now:
            return Changes([], now)
        if position.archive != now.archive or position.last_key > now.last_key or position.sessions > now.sessions:
            return Changes([_refresh("sessions were removed")], now)
        changed = reader.changed_sessions(position.last_key)
    if len(changed) > MAX_CHANGED:
        return Changes([_refresh("too many sessions changed")], now)
    messages = [
        {
            "type": "session_changed",
            "session": session_ref(session.id),
            "uuid": uuid_text(session.id),
            "sequence": session.sequence,
            "updated_at": timestamp(session.updated_at),
            "title": session.title,
        }
        for session in changed
    ]
    return Changes(messages, now)


def _refresh(reason: str) -> dict[str, Any]:
    """Tell a reader to load its page again."""
    return {"type": "refresh", "reason": reason}
