"""Names of realms and instances, and time-ordered UUIDs."""

import re
import secrets
import threading
import uuid

from recollect.errors import BadSettings
from recollect.model import now_ms

DEFAULT = "main"  # where imported history lives
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
UUID_SHAPED = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


def check_name(name: str) -> None:
    """Raise if this is not a valid name of a realm. A UUID could be mistaken for a session in `realm:session`."""
    _check("A realm", name)
    if UUID_SHAPED.fullmatch(name):
        raise BadSettings(f"A realm's name cannot be a UUID: {name!r}.")


def check_instance(name: str) -> None:
    """Raise if this is not a valid name of an instance, which is stored with every session."""
    _check("An instance", name)


def _check(subject: str, name: str) -> None:
    if NAME.fullmatch(name) is None:
        raise BadSettings(
            f"{subject} is named with 1 to 64 letters, digits, dashes and underscores, and begins with a letter or digit: "
            f"not {name!r}."
        )


def new_realm_name() -> str:
    return f"realm-{uuid7()}"


def new_instance_name() -> str:
    return f"instance-{uuid7()}"


_uuid_lock = threading.Lock()
_last_uuid = 0


def uuid7() -> uuid.UUID:
    """A UUID that begins with the time in milliseconds (RFC 9562). Within a process, each is greater than the last."""
    global _last_uuid
    bits = now_ms() << 80 | 0x7 << 76 | secrets.randbits(12) << 64 | 0b10 << 62 | secrets.randbits(62)
    with _uuid_lock:
        _last_uuid = max(bits, _last_uuid + 1)  # same millisecond, or the clock was set back
        return uuid.UUID(int=_last_uuid)
