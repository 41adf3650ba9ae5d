"""Encodes cursors of pages: opaque, valid only for one operation with the same filters."""

import base64
import binascii
from hashlib import blake2b
from typing import Any

import msgspec

CHECKSUM_SIZE = 8  # bytes: enough to notice any damage


def encode(operation: str, filters: dict[str, Any], position: list[Any]) -> str:
    """The cursor for a position in the results of an operation with these filters."""
    body = msgspec.json.encode(position)
    return _text(_checksum(operation, filters, body) + body)


def decode(cursor: str, operation: str, filters: dict[str, Any]) -> list[Any] | None:
    """The position of a cursor; None if it belongs to another operation or other filters, or is damaged."""
    try:
        raw = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        return None
    checksum, body = raw[:CHECKSUM_SIZE], raw[CHECKSUM_SIZE:]
    is_intact = checksum == _checksum(operation, filters, body)
    if not is_intact or _text(raw) != cursor:  # the unused bits of the last character must be unchanged, too
        return None
    position: list[Any] = msgspec.json.decode(body)
    return position


def _text(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def _checksum(operation: str, filters: dict[str, Any], body: bytes) -> bytes:
    scope = msgspec.json.encode([operation, filters], order="sorted")
    return blake2b(scope + b"\0" + body, digest_size=CHECKSUM_SIZE).digest()
