"""Finds a session by any form of its id.

The forms: `session:…`, a UUID, the agent's own id, the beginning of one of these, and `last`.
"""

import re

from recollect.errors import AmbiguousId, BadId, NotFound
from recollect.operations.ids import session_ref
from recollect.store import Reader, SessionRow

LAST = "last"
MIN_PREFIX = 4  # characters
SHOWN = 20  # ids that the error of an ambiguous beginning shows
OWN_FORM = re.compile(r"(?:session:)?([0-9a-f]{1,8}(?:-?[0-9a-f]{1,12}){0,4}-?)", re.IGNORECASE)
ID_DIGITS = 32
AFTER = "\U0010ffff"  # sorts after every character of an id


def find_session(reader: Reader, text: str) -> SessionRow:
    """The session with this id. Raises `NotFound`, `AmbiguousId` or `BadId`."""
    text = text.strip()
    if text == LAST:
        newest = reader.last_updated("", 1)
        if not newest:
            raise NotFound("There is no session yet. `recollect sync` reads your agents' logs.")
        return newest[0]
    found = _exact(reader, text) or sessions_beginning_with(reader, text)
    if len(found) > 1:
        matches = [session_ref(session) for session in found]
        raise AmbiguousId(f"{text!r} is the beginning of {len(found)} ids; type more of it.", matches=matches)
    session = reader.session(found[0]) if found else None
    if session is None:
        raise NotFound(f"There is no session {text!r}. `recollect list` shows the newest ones.")
    return session


def _exact(reader: Reader, text: str) -> list[bytes]:
    """The sessions that have exactly this id."""
    digits = _digits(text)
    if digits is not None and len(digits) == ID_DIGITS and reader.session(bytes.fromhex(digits)) is not None:
        return [bytes.fromhex(digits)]
    return reader.sessions_of_native_id(text)


def sessions_beginning_with(reader: Reader, text: str) -> list[bytes]:
    """The sessions whose ids begin with this. A session counts before its own sub-agents, whose ids begin with its id."""
    digits = _digits(text)
    if len(digits if digits is not None else text) < MIN_PREFIX:
        raise BadId(f"{text!r} is too short for the beginning of an id: type at least {MIN_PREFIX} characters of it.")
    found: dict[bytes, None] = {}
    if digits is not None and len(digits) < ID_DIGITS:
        first, last = (bytes.fromhex(digits.ljust(ID_DIGITS, digit)) for digit in "0f")
        found.update(dict.fromkeys(reader.sessions_between_ids(first, last, SHOWN)[0]))
    named = reader.native_ids_between(text, text + AFTER, SHOWN)
    root = min((native_id for _, native_id in named), key=len, default="")
    found.update({session: None for session, native_id in named if not native_id.startswith(f"{root}/")})
    return list(found)


def _digits(text: str) -> str | None:
    """The hexadecimal digits of an id of ours or of its beginning; None if it has another form."""
    match = OWN_FORM.fullmatch(text)
    return match[1].replace("-", "").lower() if match is not None else None
