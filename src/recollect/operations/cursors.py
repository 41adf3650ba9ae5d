"""One cursor codec: opaque, bound to an operation and its filters, and refused when either differs."""

import base64
import binascii
from hashlib import blake2b
from typing import Any

import msgspec

CHECK = 8  # bytes of checksum: enough to notice any mangling


def encode(operation: str, filters: dict[str, Any], place: list[Any]) -> str:
    body = msgspec.json.encode(place)
    return _text(_check(operation, filters, body) + body)


def decode(cursor: str, operation: str, filters: dict[str, Any]) -> list[Any] | None:
    """The place that a cursor points to, or None where it is not one of this operation with these filters."""
    try:
        raw = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        return None
    check, body = raw[:CHECK], raw[CHECK:]
    if check != _check(operation, filters, body) or _text(raw) != cursor:  # spare bits of the last character count too
        return None
    place: list[Any] = msgspec.json.decode(body)
    return place


def _text(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def _check(operation: str, filters: dict[str, Any], body: bytes) -> bytes:
    bound = msgspec.json.encode([operation, filters], order="sorted")
    return blake2b(bound + b"\0" + body, digest_size=CHECK).digest()
