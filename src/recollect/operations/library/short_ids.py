"""Short ids, as people see and type them.

`9ab2c3d4` is a session, `9ab2c3d4:3` its third turn, and `9ab2c3d4:3.5` the fifth event of that turn.
"""

import re

from recollect.errors import AmbiguousId, NotFound
from recollect.operations.ids import OURS, Noun, event_ref, parse_id, session_ref, turn_ref
from recollect.operations.library.lookup import MIN_PREFIX, find_session, sessions_beginning_with
from recollect.store import Reader, SessionRow, TurnRow

LENGTHS = (8, 10, 12, 16, 20, 24, 28, 32)  # digits: two of a million sessions share 8 digits in 1 of 9 archives
PLACE = re.compile(r"(.+):([1-9][0-9]{0,8})(?:\.([1-9][0-9]{0,8}))?")
EVENT = re.compile(rf"event:([0-9a-f]{{{MIN_PREFIX},32}})", re.IGNORECASE)
TURN = re.compile(r"turn:(.+)-([1-9][0-9]{0,8})")


class ShortIds:
    """Shortens ids. Each session is looked up once."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._sessions: dict[bytes, str] = {}

    def of(self, reference: str) -> str:
        """The short form of `session:…`, `turn:…` or `event:…`; the id itself if Recollect has no such object."""
        identity = parse_id(reference, "id")
        if identity.key is None:
            return reference
        if identity.noun is Noun.EVENT:
            return self._event(identity.key) or reference
        session = self.session(identity.key)
        return session if identity.ordinal is None else f"{session}:{identity.ordinal}"

    def session(self, session: bytes) -> str:
        """The shortest beginning of an id, of 8 digits or more, that no other session's id begins with."""
        if session not in self._sessions:
            self._sessions[session] = self._shortest(session)
        return self._sessions[session]

    def _shortest(self, session: bytes) -> str:
        digits = session.hex()
        beginnings = (digits[:length] for length in LENGTHS)
        unique = (text for text in beginnings if set(sessions_beginning_with(self._reader, text)) <= {session})
        return next(unique, digits)

    def _event(self, identity: bytes) -> str | None:
        event = self._reader.event(identity)
        turn = self._reader.turn(event.session, event.turn) if event is not None else None
        if event is None or turn is None:
            return None
        session = self._reader.sessions([event.session])[event.session]
        return f"{self.session(session.id)}:{turn.ordinal}.{turn.position_of(event.seq)}"


def full_id(reader: Reader, text: str) -> str:
    """The `session:…`, `turn:…` or `event:…` that any form of an id means. Raises `NotFound`, `AmbiguousId` or `BadId`."""
    text = text.strip()
    noun, _, rest = text.partition(":")
    if noun in tuple(Noun) and OURS.fullmatch(rest):
        return text
    if match := EVENT.fullmatch(text):
        return _event_beginning_with(reader, text, match[1].lower())
    match = TURN.fullmatch(text) or PLACE.fullmatch(text)
    if match is None or match[1] in tuple(Noun) or reader.sessions_of_native_id(text):
        return session_ref(find_session(reader, text).id)
    session = find_session(reader, match[1])
    turn = _turn(reader, session, int(match[2]))
    if match.lastindex == 2:
        return turn_ref(session.id, turn.ordinal)
    return _event_of_turn(reader, session, turn, int(match[3]))


def _turn(reader: Reader, session: SessionRow, ordinal: int) -> TurnRow:
    turn = reader.turn(session.key, ordinal)
    if turn is None:
        raise NotFound(f"There is no turn {ordinal}: the session has {session.turn_count:,}.")
    return turn


def _event_of_turn(reader: Reader, session: SessionRow, turn: TurnRow, position: int) -> str:
    event = reader.event_at(session.key, turn.last - turn.event_count + position)
    if position > turn.event_count or event is None:
        raise NotFound(f"There is no event {position} in turn {turn.ordinal}, which has {turn.event_count:,}.")
    return event_ref(event.id)


def _event_beginning_with(reader: Reader, text: str, digits: str) -> str:
    first, last = (bytes.fromhex(digits.ljust(32, digit)) for digit in "0f")
    found = [event_ref(event) for event in reader.events_between_ids(first, last, 2)]
    if len(found) > 1:
        raise AmbiguousId(f"{text!r} is the beginning of more than one id; type more of it.", matches=found)
    if not found:
        raise NotFound(f"There is no event {text!r}.")
    return found[0]
