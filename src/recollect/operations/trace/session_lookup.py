"""Finds a session by its UUID or a prefix of it."""

from recollect.errors import AmbiguousId, NotFound
from recollect.operations.ids import uuid_text
from recollect.store import Reader, SessionRow

SHOWN_MATCHES = 20  # ids that the error of an ambiguous prefix shows
UUID_DASHES = (8, 13, 18, 23)


def find_session(reader: Reader, prefix: str) -> SessionRow:
    """The only session whose UUID begins with this. Raises `NotFound` or `AmbiguousId`."""
    bounds = _bounds(prefix.lower())
    found, count = reader.sessions_between_ids(*bounds, SHOWN_MATCHES) if bounds else ([], 0)
    if count > 1:
        message = f"Session ID prefix '{prefix}' matches {count} sessions. Provide more characters."
        raise AmbiguousId(message, prefix=prefix, matches=[uuid_text(key) for key in found])
    session = reader.session(found[0]) if found else None
    if session is None:
        raise NotFound(f"No session with ID or prefix '{prefix}'")
    return session


def _bounds(prefix: str) -> tuple[bytes, bytes] | None:
    """The first and the last id with a prefix; None if no id can have it."""
    has_valid_dashes = all((letter == "-") == (index in UUID_DASHES) for index, letter in enumerate(prefix))
    digits = prefix.replace("-", "")
    if not has_valid_dashes or len(digits) > 32 or any(digit not in "0123456789abcdef" for digit in digits):
        return None
    return bytes.fromhex(digits.ljust(32, "0")), bytes.fromhex(digits.ljust(32, "f"))
