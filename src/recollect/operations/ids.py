"""Ids as families show them. The history family has `session:…`, `turn:…` and `event:…`, which are opaque to callers.

Other families show the same 128 bits of a session as a UUID; trace also takes a prefix of one.
"""

import re
import uuid
from enum import StrEnum
from typing import Any

from msgspec import Struct

from recollect.errors import BadId

WELL_FORMED = re.compile(r"(session|turn|event):([A-Za-z0-9_-]{1,128})")
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE)
PREFIX_OR_UUID = re.compile(r"[0-9A-Za-z-]+")  # of a session
OURS = re.compile(r"([0-9a-f]{32})(?:-([1-9][0-9]{0,8}))?")


class Noun(StrEnum):
    SESSION = "session"
    TURN = "turn"
    EVENT = "event"


class Id(Struct, frozen=True):
    """A well-formed id. `key` is None if Recollect cannot have created the id."""

    noun: Noun
    key: bytes | None
    ordinal: int | None = None


def parse_id(text: str, field: str) -> Id:
    """The parts of an id. Raises `BadId` if it is not well-formed."""
    match = WELL_FORMED.fullmatch(text)
    if match is None:
        raise BadId("id is not a valid Moraine MCP ID", field=field)
    noun = Noun(match[1])
    ours = OURS.fullmatch(match[2])
    if ours is None or (ours[2] is not None) is not (noun is Noun.TURN):
        return Id(noun, None)
    return Id(noun, bytes.fromhex(ours[1]), int(ours[2]) if ours[2] else None)


def session_ref(session: bytes) -> str:
    return f"session:{session.hex()}"


def session_key(ref: str) -> bytes:
    """The id of a session that `session_ref` wrote."""
    return bytes.fromhex(ref.removeprefix("session:"))


def turn_ref(session: bytes, ordinal: int) -> str:
    return f"turn:{session.hex()}-{ordinal}"


def event_ref(event: bytes) -> str:
    return f"event:{event.hex()}"


def uuid_text(key: bytes) -> str:
    return str(uuid.UUID(bytes=key))


class UuidKey(bytes):
    """The 128 bits of a UUID, with the caller's text, which errors repeat."""

    text: str


def uuid_key(text: Any, field: str) -> UuidKey:
    """The key of a UUID."""
    if not isinstance(text, str) or UUID.fullmatch(text) is None:
        raise BadId(f"{field} must be a UUID", field=field)
    key = UuidKey(bytes.fromhex(text.replace("-", "")))
    key.text = text
    return key
